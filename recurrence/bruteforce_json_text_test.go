package recurrence_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
)

// changed returns all trees in which one number or one word of a tree is another.
func changed(tree any) (list []any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			for _, part := range changed(value) {
				other := map[string]any{}
				for key, value := range tree {
					other[key] = value
				}
				other[key] = part
				list = append(list, other)
			}
		}
	case []any:
		for i, value := range tree {
			for _, part := range changed(value) {
				other := slices.Clone(tree)
				other[i] = part
				list = append(list, other)
			}
		}
	case float64:
		return []any{tree + 1, -tree}
	case string:
		if i := slices.Index(weekdayNames, tree); i >= 0 {
			return []any{weekdayNames[(i+1)%7]}
		}
		for _, pair := range []string{"orthodoxEaster easter", "easter orthodoxEaster", "next previous", "nextInMonth next", "nearest nearestInMonth", "skip shown", "shown once"} {
			if from, to, _ := strings.Cut(pair, " "); tree == from || strings.HasSuffix(from, "aster") && strings.HasPrefix(tree, from) {
				return []any{strings.ReplaceAll(tree, from, to)}
			}
		}
	}
	return list
}

// A rule and all rules that differ from it by one value have different texts for people.
func TestRulesThatDifferByOneValueHaveDifferentTexts(t *testing.T) {
	compared, failed := 0, 0
	for _, seed := range long.Draw(60, 300) {
		r, _ := newJSONGenerator(seed + 7_000_000).draw()
		var tree any
		if err := json.Unmarshal([]byte(r.text()), &tree); err != nil {
			t.Fatal(err)
		}
		texts := map[string]string{} // canonical JSON by the text
		for _, variant := range append(append([]any{tree}, without(tree)...), changed(tree)...) {
			body, err := json.Marshal(variant)
			if err != nil {
				t.Fatal(err)
			}
			rule, err := recurrence.Parse(body)
			if err != nil {
				continue
			}
			canonical, err := rule.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			text := rule.String()
			if other, ok := texts[text]; ok && other != string(canonical) {
				t.Errorf("seed %d: %q is the text of\n%s\n%s", seed, text, other, canonical)
				if failed++; failed == 20 {
					return
				}
			}
			texts[text] = string(canonical)
			compared++
		}
	}
	if t.Logf("%d texts compared", compared); compared < 500 {
		t.Errorf("only %d texts were compared", compared)
	}
}
