package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

func TestSpansCoverSetsOnceInOrder(t *testing.T) {
	for _, row := range []struct{ sets, want string }{
		{"", ""}, {"b,a,b", "a,b"}, {"*", "*"}, {"a,*", "*"}, {"ci-*,a,ci-1,ci-*-x,d", "a,ci-*,d"}, {"a*b,a,ab", "a*"}, {"b*,a*,ab*,aa", "a*,b*"},
	} {
		got := []string{}
		for _, one := range (Sight{Sets: slices.DeleteFunc(strings.Split(row.sets, ","), func(set string) bool { return set == "" })}).spans() {
			text := one.begin
			if one.all {
				text += "*"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ","); text != row.want {
			t.Errorf("%s: %s, want %s", row.sets, text, row.want)
		}
	}
	if spans := (Sight{}).spans(); len(spans) != 1 || spans[0] != (span{all: true}) {
		t.Errorf("without sets: %v, want all names", spans)
	}
}

// A caller with a few collections reads those, however many there are; the pages are those of the whole list without the others.
func TestAListReadsOnlyWhatTheCallerMaySee(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		for i := range 300 {
			f.collect(fmt.Sprintf("c%03d", i), &resource.Collection{Quota: resource.Quota{MaxJobCount: 1, MaxFrequency: "Minute", MaxInterval: 1}})
		}
		f.collect("c29", &resource.Collection{Quota: resource.Quota{MaxJobCount: 1, MaxFrequency: "Minute", MaxInterval: 1}})
		s := New(Options{Store: f.cutStore()})
		for _, row := range []struct {
			sets  string
			n     int
			calls int // at most, for one page
		}{
			{"c007", 1, 2}, {"c290,c007,none", 2, 6}, {"c29*", 11, 4}, {"c29*,c0*5,demo", 22, 12}, {"none", 0, 2},
		} {
			sets := strings.Split(row.sets, ",")
			sight := Sight{Sets: sets, May: func(name string) bool {
				return slices.ContainsFunc(sets, func(set string) bool {
					begin, end, all := strings.Cut(set, "*")
					return name == set || all && strings.HasPrefix(name, begin) && strings.HasSuffix(name, end)
				})
			}}
			for _, top := range []int{1, 4, 100} {
				var want, got []string
				for page := (Page{Top: top}); ; {
					found, next, err := f.ListCollections(t.Context(), page, Sight{May: sight.May})
					for _, c := range found {
						want = append(want, c.Name)
					}
					if page.After = next; next == "" || err != nil {
						break
					}
				}
				for page := (Page{Top: top}); ; {
					of := &cut{calls: 1 << 30}
					found, next, err := s.ListCollections(context.WithValue(t.Context(), cutKey{}, of), page, sight)
					if err != nil || of.made > row.calls {
						t.Errorf("%s, pages of %d: a page took %d calls, %v; want %d at most", row.sets, top, of.made, err, row.calls)
					}
					for _, c := range found {
						got = append(got, c.Name)
					}
					if page.After = next; next == "" || err != nil {
						break
					}
				}
				if !slices.Equal(got, want) || len(got) != row.n {
					t.Errorf("%s, pages of %d: %v, want the %d of %v", row.sets, top, got, row.n, want)
				}
			}
		}
	})
}
