package arm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxExpression bounds the text of an expression, and the result of concat: parameters could refer to each other and double the length at each step.
const maxExpression = 1 << 20

// A template is the context of expressions. Strings of a list or of one resource are plain data, so literal is true for them.
type template struct {
	literal    bool
	parameters object         // declared in the template
	given      map[string]any // values from outside
	under      []string       // the parameters whose default is being evaluated
	made       map[string]any // the evaluated defaults, by name in lower case: each is evaluated once
}

// value evaluates the expressions in a value at a place.
func (t *template) value(v any, place string) (any, *Refusal) {
	if t.literal {
		return v, nil
	}
	switch v := v.(type) {
	case string:
		return t.text(v, place)
	case []any:
		made := make([]any, len(v))
		for i, item := range v {
			done, bad := t.value(item, fmt.Sprintf("%s[%d]", place, i))
			if bad != nil {
				return nil, bad
			}
			made[i] = done
		}
		return made, nil
	case object:
		made := make(object, len(v))
		for _, key := range keys(v) {
			done, bad := t.value(v[key], place+"."+key)
			if bad != nil {
				return nil, bad
			}
			made[key] = done
		}
		return made, nil
	}
	return v, nil
}

// text evaluates a string of a template: "[…]" is an expression, "[[…" is the text "[…", every other string is itself.
func (t *template) text(text, place string) (any, *Refusal) {
	if !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
		return text, nil
	}
	if strings.HasPrefix(text, "[[") {
		return text[1:], nil
	}
	if len(text) > maxExpression {
		return nil, refused(place, "the expression has more than %d characters", maxExpression)
	}
	e := &expression{template: t, place: place, text: text, rest: text[1 : len(text)-1]}
	made, bad := e.call()
	if bad == nil && strings.TrimSpace(e.rest) != "" {
		bad = e.unread()
	}
	return made, bad
}

// parameter is the value of a parameter: the given one, else its default.
func (t *template) parameter(name, place string) (any, *Refusal) {
	if key := keyOf(t.given, name); key != "" {
		return t.given[key], nil
	}
	if made, ok := t.made[strings.ToLower(name)]; ok {
		return made, nil
	}
	declared, ok := t.parameters[keyOf(t.parameters, name)].(object)
	if !ok {
		return nil, refused(place, "the template has no parameter %q, and no value for it is given", name)
	}
	standard := at(declared, "defaultValue")
	if standard == nil {
		return nil, refused(place, "parameter %q has no default and no given value", name)
	}
	for _, waits := range t.under {
		if strings.EqualFold(waits, name) {
			return nil, refused(place, "the default of parameter %q refers to itself", name)
		}
	}
	t.under = append(t.under, name)
	defer func() { t.under = t.under[:len(t.under)-1] }()
	made, bad := t.value(standard, "parameters."+name+".defaultValue")
	if bad == nil {
		if t.made == nil {
			t.made = map[string]any{}
		}
		t.made[strings.ToLower(name)] = made
	}
	return made, bad
}

// An expression is an expression that is being read. Names of functions are found in any case, as in Azure.
type expression struct {
	*template
	place string
	text  string // the whole text, for errors
	rest  string // the unread part
	deep  int
}

// maxNesting is the maximum depth of nested calls.
const maxNesting = 32

// unread is the refusal of an expression that is not supported.
func (e *expression) unread() *Refusal {
	text := e.text
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return refused(e.place, "the expression %s is not supported: use only parameters('name') and concat(…), or replace it by its value", text)
}

// call reads name(…).
func (e *expression) call() (any, *Refusal) {
	if e.deep++; e.deep > maxNesting {
		return nil, e.unread()
	}
	defer func() { e.deep-- }()
	name, rest, ok := strings.Cut(e.rest, "(")
	if !ok {
		return nil, e.unread()
	}
	e.rest = rest
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "parameters":
		wanted, ok := e.quoted()
		if !ok || !e.next(')') {
			return nil, e.unread()
		}
		return e.parameter(wanted, e.place)
	case "concat":
		return e.concat()
	}
	return nil, e.unread()
}

// concat joins texts and numbers.
func (e *expression) concat() (any, *Refusal) {
	var joined strings.Builder
	for {
		part, bad := e.argument()
		if bad != nil {
			return nil, bad
		}
		switch part := part.(type) {
		case string:
			joined.WriteString(part)
		case json.Number:
			joined.WriteString(part.String())
		default:
			return nil, refused(e.place, "the expression %s joins a value that is not a text", e.text)
		}
		if joined.Len() > maxExpression {
			return nil, refused(e.place, "the result of the expression has more than %d characters", maxExpression)
		}
		switch {
		case e.next(','):
		case e.next(')'):
			return joined.String(), nil
		default:
			return nil, e.unread()
		}
	}
}

// argument reads a quoted text, a whole number or a call.
func (e *expression) argument() (any, *Refusal) {
	e.rest = strings.TrimLeft(e.rest, " \t\r\n")
	if strings.HasPrefix(e.rest, "'") {
		text, ok := e.quoted()
		if !ok {
			return nil, e.unread()
		}
		return text, nil
	}
	digits := len(e.rest) - len(strings.TrimLeft(e.rest, "0123456789"))
	if digits > 0 {
		number := json.Number(e.rest[:digits])
		e.rest = e.rest[digits:]
		return number, nil
	}
	return e.call()
}

// quoted reads 'text', in which two quotes mean one.
func (e *expression) quoted() (text string, ok bool) {
	e.rest = strings.TrimLeft(e.rest, " \t\r\n")
	if !strings.HasPrefix(e.rest, "'") {
		return "", false
	}
	var read strings.Builder
	for rest := e.rest[1:]; ; {
		part, after, found := strings.Cut(rest, "'")
		if !found {
			return "", false
		}
		read.WriteString(part)
		if !strings.HasPrefix(after, "'") {
			e.rest = after
			return read.String(), true
		}
		read.WriteByte('\'')
		rest = after[1:]
	}
}

// next consumes one character if it comes next, after spaces.
func (e *expression) next(c byte) bool {
	rest := strings.TrimLeft(e.rest, " \t\r\n")
	if rest == "" || rest[0] != c {
		return false
	}
	e.rest = rest[1:]
	return true
}
