package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi/datamodel/high/base"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"
)

// model is the document in libopenapi's form.
func model(t *testing.T) *v3.Document {
	t.Helper()
	document, err := libopenapi.NewDocument(read(t, "../openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	built, err := document.BuildV3Model()
	if err != nil {
		t.Fatalf("libopenapi cannot read the document: %v", err)
	}
	return &built.Model
}

// An operation is one method of one path.
type operation struct {
	method string // in upper case
	path   string
	item   *v3.PathItem
	*v3.Operation
}

func (o operation) String() string { return o.method + " " + o.path }

func operations(m *v3.Document) []operation {
	var all []operation
	for path, item := range m.Paths.PathItems.FromOldest() {
		for method, o := range item.GetOperations().FromOldest() {
			all = append(all, operation{strings.ToUpper(method), path, item, o})
		}
	}
	return all
}

func TestTheDocumentIsOpenAPI31(t *testing.T) {
	m := model(t)
	if m.Version != "3.1.0" {
		t.Errorf("the document has the OpenAPI version %s, want 3.1.0", m.Version)
	}
	if ok, wrong := newValidator(t).ValidateDocument(); !ok {
		t.Errorf("the document does not match the schema of OpenAPI 3.1:\n%s", explain(wrong))
	}
}

func TestEveryOperationSaysWhatItIs(t *testing.T) {
	m := model(t)
	ids := map[string]bool{}
	for _, o := range operations(m) {
		if o.OperationId == "" || ids[o.OperationId] {
			t.Errorf("%v: the operationId is %q: want a unique one", o, o.OperationId)
		}
		ids[o.OperationId] = true
		if o.Summary == "" || strings.HasSuffix(o.Summary, ".") {
			t.Errorf("%v: the summary is %q: want one without a full stop", o, o.Summary)
		}
		if !strings.HasSuffix(strings.TrimSpace(o.Description), ".") {
			t.Errorf("%v: the description is %q: want sentences", o, o.Description)
		}
		if len(o.Tags) != 1 || !slices.ContainsFunc(m.Tags, func(tag *base.Tag) bool { return tag.Name == o.Tags[0] }) {
			t.Errorf("%v: the tags are %q: want one of those listed", o, o.Tags)
		}
	}
	if len(ids) < 20 {
		t.Errorf("%d operations were found: this test searches in the wrong place", len(ids))
	}
}

// Answers that every operation can have are not repeated in the table of routes, so they are easy to forget in the document.
func TestEveryOperationHasTheAnswersOfItsKind(t *testing.T) {
	for _, o := range operations(model(t)) {
		want := []string{"400", "500"}
		open := o.Security != nil && len(o.Security) == 0
		named := strings.Contains(o.path, "{collection}")
		conditional := slices.ContainsFunc(o.Parameters, func(p *v3.Parameter) bool { return p.Name == "If-Match" })
		add := func(when bool, statuses ...string) {
			if when {
				want = append(want, statuses...)
			}
		}
		add(!open, "401", "403", "429")
		add(!open && o.path != "/", "503")
		add(named, "404")
		add(conditional, "412")
		add(o.RequestBody != nil, "409", "413", "415")
		add(o.method == "POST" && o.path != "/preview" || o.method == "DELETE" && (conditional || strings.HasSuffix(o.path, "{batch}")), "409")
		add(o.method == "PUT", "200", "201")
		add(o.method == "DELETE", "200", "204")
		var got []string
		for status := range o.Responses.Codes.FromOldest() {
			got = append(got, status)
			if status >= "400" && !slices.Contains(want, status) {
				t.Errorf("%v answers %s, which no operation of its kind does", o, status)
			}
		}
		for _, status := range want {
			if !slices.Contains(got, status) {
				t.Errorf("%v lacks the answer %s", o, status)
			}
		}
	}
}

// Each answer has the common headers, and each error answer is a problem.
func TestEveryAnswerHasItsHeaders(t *testing.T) {
	for _, o := range operations(model(t)) {
		for status, answer := range o.Responses.Codes.FromOldest() {
			want := []string{"X-Request-Id", "x-ms-request-id", "Cache-Control", "X-Content-Type-Options"}
			switch status {
			case "201":
				want = append(want, "Location", "ETag")
			case "202":
				want = append(want, "Location", "Retry-After")
			case "401":
				want = append(want, "WWW-Authenticate")
			case "429", "503":
				want = append(want, "Retry-After")
			}
			for _, name := range want {
				if answer.Headers == nil || answer.Headers.GetOrZero(name) == nil {
					t.Errorf("%v %s lacks the header %s", o, status, name)
				}
			}
			isProblem := answer.Content != nil && answer.Content.GetOrZero("application/problem+json") != nil
			if isProblem != (status >= "400") {
				t.Errorf("%v %s is a problem: %v", o, status, isProblem)
			}
			if status >= "400" && len(codesOf(t, answer)) == 0 {
				t.Errorf("%v %s does not list its codes", o, status)
			}
		}
	}
}

// codesOf are the codes of a problem's answer.
func codesOf(t *testing.T, answer *v3.Response) []string {
	t.Helper()
	var codes []string
	if node := answer.Extensions.GetOrZero("x-codes"); node != nil {
		if err := node.Decode(&codes); err != nil {
			t.Fatalf("x-codes: %v", err)
		}
	}
	return codes
}

// A field needs a description, unless its name is in this list.
func TestEveryFieldIsDescribed(t *testing.T) {
	plain := []string{
		"value", "properties", "status", "error", "history", // of the enclosing schema
		"storageAccount", "queueName", "topicPath", "namespace", "correlationId", "forcePersistence", "label", "partitionKey",
		"replyTo", "replyToSessionId", "sessionId", "to", "viaPartitionKey", "actionName",
	}
	m := model(t)
	seen := 0
	var visit func(at string, s *base.Schema)
	visit = func(at string, s *base.Schema) {
		for name, proxy := range s.Properties.FromOldest() {
			seen++
			field := proxy.Schema()
			if field == nil {
				t.Errorf("%s.%s: %v", at, name, proxy.GetBuildError())
				continue
			}
			if !proxy.IsReference() && field.Description == "" && field.Const == nil && !slices.Contains(plain, name) && !strings.HasPrefix(at, "Addition") {
				t.Errorf("%s.%s has no description", at, name)
			}
			if !proxy.IsReference() {
				visit(at+"."+name, field)
			}
		}
	}
	for name, proxy := range m.Components.Schemas.FromOldest() {
		visit(name, proxy.Schema())
	}
	if seen < 150 {
		t.Errorf("%d fields were found: this test searches in the wrong place", seen)
	}
	for name, p := range m.Components.Parameters.FromOldest() {
		if p.Description == "" || p.Schema == nil {
			t.Errorf("parameter %s has no description or no schema", name)
		}
	}
}

// A component without a reference is out of date.
func TestEveryComponentIsUsed(t *testing.T) {
	text := string(read(t, "../openapi.yaml"))
	m := model(t)
	check := func(kind string, names []string) {
		for _, name := range names {
			if !strings.Contains(text, fmt.Sprintf("#/components/%s/%s\"", kind, name)) && !(kind == "responses" && name == "MethodNotAllowed") {
				t.Errorf("nothing refers to #/components/%s/%s", kind, name)
			}
		}
	}
	check("schemas", names(m.Components.Schemas))
	check("parameters", names(m.Components.Parameters))
	check("headers", names(m.Components.Headers))
	check("responses", names(m.Components.Responses))
	check("requestBodies", names(m.Components.RequestBodies))
}

func names[V any](of *orderedmap.Map[string, V]) []string {
	var all []string
	for name := range of.FromOldest() {
		all = append(all, name)
	}
	return all
}
