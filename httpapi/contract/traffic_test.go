package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/errors"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// newValidator compares requests and answers with the document, more strictly than the document: an answer may have no undocumented field,
// though clients have to accept one.
func newValidator(t *testing.T) validator.Validator {
	t.Helper()
	document, err := libopenapi.NewDocument(closed(t))
	if err != nil {
		t.Fatal(err)
	}
	v, wrong := validator.NewValidator(document,
		config.WithFormatAssertions(),
		// A server on loopback needs no token; other tests check tokens.
		config.WithoutSecurityValidation(),
	)
	if len(wrong) > 0 {
		t.Fatalf("the validator cannot read the document: %v", wrong)
	}
	t.Cleanup(v.Release)
	return v
}

// closed is the document with additionalProperties: false in every object that does not set it.
func closed(t *testing.T) []byte {
	t.Helper()
	var document any
	if err := json.Unmarshal(read(t, "../openapi.json"), &document); err != nil {
		t.Fatal(err)
	}
	var visit func(node any)
	visit = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, item := range node {
				visit(item)
			}
		case map[string]any:
			_, fields := node["properties"].(map[string]any)
			if _, said := node["additionalProperties"]; node["type"] == "object" && fields && !said {
				node["additionalProperties"] = false
			}
			for key, item := range node {
				if key != "examples" && key != "example" {
					visit(item)
				}
			}
		}
	}
	visit(document)
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// explain lists the validator's findings, one a line.
func explain(wrong []*errors.ValidationError) string {
	var text strings.Builder
	for _, w := range wrong {
		fmt.Fprintf(&text, "- %s: %s\n", w.Message, w.Reason)
		for _, s := range w.SchemaValidationErrors {
			fmt.Fprintf(&text, "  - %s: %s\n", s.FieldPath, s.Reason)
		}
	}
	return text.String()
}

// An exchange is a request and its answer.
type exchange struct {
	request *http.Request // its body has been read
	sent    []byte
	answer  *http.Response // its body has been read too
	got     []byte
}

func (x *exchange) String() string {
	return fmt.Sprintf("%s %s %s: %d %s", x.request.Method, x.request.URL.Path, cut(x.sent), x.answer.StatusCode, cut(x.got))
}

func cut(text []byte) string {
	if len(text) > 600 {
		return string(text[:600]) + "…"
	}
	return string(bytes.TrimSpace(text))
}

// armPrefix is the beginning of the path of Azure's resource manager.
const armPrefix = "/providers/Microsoft.Scheduler"

// bare is the exchange with its path below the mount point, the form in the document.
func (x *exchange) bare() *http.Request {
	request := x.request.Clone(x.request.Context())
	request.Body = io.NopCloser(bytes.NewReader(x.sent))
	if before, after, found := strings.Cut(request.URL.Path, armPrefix); found && strings.HasPrefix(before, "/subscriptions/") {
		query := request.URL.Query()
		query.Del("api-version")
		request.URL.Path, request.URL.RawPath, request.URL.RawQuery = after, "", query.Encode()
	}
	if request.Method == http.MethodHead {
		request.Method = http.MethodGet
	}
	return request
}

func (x *exchange) response() *http.Response {
	answer := *x.answer
	answer.Body = io.NopCloser(bytes.NewReader(x.got))
	return &answer
}

// A book is the document, prepared to check exchanges.
type book struct {
	validator  validator.Validator
	operations []operation
	seen       map[string]bool // the operations and statuses that were checked, such as "putJob 201"
}

func newBook(t *testing.T) *book {
	t.Helper()
	return &book{newValidator(t), operations(model(t)), map[string]bool{}}
}

// wrong lists the differences between an exchange and the document: of its answer always, and of its request unless the answer refuses its form.
func (b *book) wrong(x *exchange) []string {
	var all []string
	status := x.answer.StatusCode
	formless := slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}, status)
	o, known := b.find(x.bare())
	if !known {
		return b.wrongElsewhere(x)
	}
	if !formless {
		if ok, wrong := b.validator.ValidateHttpRequest(x.bare()); !ok {
			all = append(all, "the request: "+explain(wrong))
		}
	}
	if x.request.Method != http.MethodHead {
		if ok, wrong := b.validator.ValidateHttpResponse(x.bare(), x.response()); !ok {
			all = append(all, "the answer: "+explain(wrong))
		}
		if len(x.got) > 0 && !bytes.HasSuffix(x.got, []byte("\n")) {
			all = append(all, "the answer does not end in a newline")
		}
	}
	answer := o.Responses.Codes.GetOrZero(strconv.Itoa(status))
	if answer == nil {
		return append(all, "the document has no such status here")
	}
	b.seen[fmt.Sprintf("%s %d", o.OperationId, status)] = true
	for name := range x.answer.Header {
		if slices.Contains([]string{"Content-Type", "Content-Length", "Date", "Connection"}, name) {
			continue
		}
		if !slices.ContainsFunc(names(answer.Headers), func(known string) bool { return strings.EqualFold(known, name) }) {
			all = append(all, "the answer has the header "+name+", which is not in the document")
		}
	}
	return append(all, wrongCodes(x.got, status, answer)...)
}

// wrongElsewhere checks the answer to a path or a method that the document does not have. It has to be a problem like any other.
func (b *book) wrongElsewhere(x *exchange) []string {
	code := map[int]string{http.StatusNotFound: "not_found", http.StatusMethodNotAllowed: "method_not_allowed"}[x.answer.StatusCode]
	if code == "" || !bytes.Contains(x.got, []byte(`"code":"`+code+`"`)) {
		return []string{"the document has no such operation"}
	}
	if allow := x.answer.Header.Get("Allow"); (allow != "") != (x.answer.StatusCode == http.StatusMethodNotAllowed) {
		return []string{"the header Allow is " + strconv.Quote(allow)}
	}
	like := x.response()
	like.StatusCode = http.StatusNotFound
	if ok, wrong := b.validator.ValidateHttpResponse(request("GET", mount+"/jobCollections/demo", ""), like); !ok {
		return []string{"the answer: " + explain(wrong)}
	}
	return nil
}

// wrongCodes lists the codes of a problem that its answer may not have.
func wrongCodes(got []byte, status int, answer *v3.Response) []string {
	if status < 400 {
		return nil
	}
	var all []string
	var problem struct {
		Status int
		Code   string
		Errors []struct{ Code string }
	}
	if err := json.Unmarshal(got, &problem); err != nil {
		return []string{err.Error()}
	}
	if problem.Status != status {
		all = append(all, fmt.Sprintf("the problem has the status %d", problem.Status))
	}
	codes := []string{problem.Code}
	for _, e := range problem.Errors {
		codes = append(codes, e.Code)
	}
	var may []string
	if err := answer.Extensions.GetOrZero("x-codes").Decode(&may); err != nil {
		return append(all, err.Error())
	}
	for _, code := range codes {
		if !slices.Contains(may, code) {
			all = append(all, fmt.Sprintf("the document has no code %q here", code))
		}
	}
	return all
}

// find returns the operation of a request.
func (b *book) find(r *http.Request) (operation, bool) {
	for _, o := range b.operations {
		pattern := "^" + regexp.MustCompile(`\\{[a-z]+\\}`).ReplaceAllString(regexp.QuoteMeta(o.path), "[^/]+") + "$"
		if o.method == r.Method && regexp.MustCompile(pattern).MatchString(r.URL.Path) {
			return o, true
		}
	}
	return operation{}, false
}

// hold fails the test if an exchange does not match the document.
func (b *book) hold(t *testing.T, x *exchange) {
	t.Helper()
	for _, wrong := range b.wrong(x) {
		t.Errorf("%v\n%s", x, wrong)
	}
}
