package action

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const secretKey = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

func keyText(name string, fill byte) string {
	return name + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32))
}

func testRing(t testing.TB, keys ...string) *Ring {
	t.Helper()
	if keys == nil {
		keys = []string{keyText("k1", 1)}
	}
	ring, err := ParseRing(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// full is an action with a secret in every possible place, with this authentication.
func full(auth Authentication) *Action {
	request := func(mark string) *Request {
		own := auth
		for i, s := range []*Secret{&own.Password, &own.Secret, &own.ClientSecret, &own.Token, &own.Key} {
			if !s.IsZero() {
				*s = Plain(fmt.Sprintf("canary-%s-%d", mark, i))
			}
		}
		return &Request{
			URI: "https://example.com/r?a=1", Method: "POST", Body: "hello", Authentication: &own, Headers: map[string]string{"X-Open": "1"},
			SecretHeaders: map[string]Secret{"X-Hidden": Plain("canary-" + mark + "-header")}, SecretQuery: map[string]Secret{"sig": Plain("canary-" + mark + "-query")},
			Signing: &Signing{Secret: Plain(secretKey), PreviousSecret: Plain(secretKey)},
		}
	}
	return &Action{Type: HTTPS, Request: request("main"), ErrorAction: &Action{Type: HTTPS, Request: request("error")}}
}

var basicAuth = Authentication{Type: Basic, Username: "anna", Password: Plain("x")}

func encoded(t *testing.T, a *Action) string {
	t.Helper()
	data, err := Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAPlainSecretIsNeitherStoredNorPrinted(t *testing.T) {
	a := full(basicAuth)
	if data, err := Encode(a); err == nil {
		t.Errorf("a plain secret is encoded: %s", data)
	}
	ring := testRing(t)
	printed := fmt.Sprintf("%v %+v %#v %s %q %x", *a.Request, a.Request.Authentication.Password, *a.Request.Authentication, a.Request.Signing, a.Request.SecretQuery, a.Request.SecretHeaders["X-Hidden"])
	printed += fmt.Sprintf("%v %+v %#v %s", ring, *ring, ring, ring)
	if err := a.Seal(ring, Place{"c", "j"}, nil); err != nil {
		t.Fatal(err)
	}
	printed += encoded(t, a)
	public, err := json.Marshal(a.Public())
	if err != nil || bytes.Contains(public, []byte("$secret")) || !bytes.Contains(public, []byte(`"X-Hidden":null`)) {
		t.Errorf("%v: the public JSON is %s", err, public)
	}
	if strings.Contains(printed, "canary") || strings.Contains(printed, secretKey) {
		t.Errorf("a secret is printed: %s", printed)
	}
	if got := len(a.SecretPaths()); got != 10 {
		t.Errorf("%d secrets, want 10: %v", got, a.SecretPaths())
	}
}

func TestASecretOpensOnlyWhereItWasSealed(t *testing.T) {
	ring, here := testRing(t), Place{"c", "j"}
	a := full(basicAuth)
	if err := a.Seal(ring, here, nil); err != nil {
		t.Fatal(err)
	}
	opened, err := a.open(ring, here, mainPath)
	if err != nil || opened.Request.Authentication.Password.text != "canary-main-0" || opened.Request.SecretQuery["sig"].text != "canary-main-query" {
		t.Fatalf("%v: the secret cannot be opened at its place", err)
	}
	if _, err := a.ErrorAction.open(ring, here, errorPath); err != nil {
		t.Errorf("the error action: %v", err)
	}
	for name, open := range map[string]func() (*Action, error){
		"another job":        func() (*Action, error) { return a.open(ring, Place{"c", "k"}, mainPath) },
		"another collection": func() (*Action, error) { return a.open(ring, Place{"d", "j"}, mainPath) },
		"names run together": func() (*Action, error) { return a.open(ring, Place{"", "cj"}, mainPath) },
		"the error action":   func() (*Action, error) { return a.open(ring, here, errorPath) },
		"another key":        func() (*Action, error) { return a.open(testRing(t, keyText("k1", 2)), here, mainPath) },
		"no keys":            func() (*Action, error) { return a.open(nil, here, mainPath) },
		"another field": func() (*Action, error) {
			b := a.Clone()
			b.Request.SecretQuery["sig"] = b.Request.Authentication.Password
			return b.open(ring, here, mainPath)
		},
		"another name": func() (*Action, error) {
			b := a.Clone()
			b.Request.SecretQuery["echo"] = b.Request.SecretQuery["sig"]
			return b.open(ring, here, mainPath)
		},
	} {
		if _, err := open(); err == nil {
			t.Errorf("it opens with %s", name)
		}
	}
}

func TestTheSameActionIsStoredAsTheSameBytes(t *testing.T) {
	here, ring := Place{"c", "j"}, testRing(t)
	stored := full(basicAuth)
	if err := stored.Seal(ring, here, nil); err != nil {
		t.Fatal(err)
	}
	again := full(basicAuth)
	if err := again.Seal(ring, here, stored); err != nil {
		t.Fatal(err)
	}
	if encoded(t, stored) != encoded(t, again) {
		t.Error("the same action is sealed to other bytes")
	}
	changed := full(basicAuth)
	changed.Request.SecretQuery["sig"] = Plain("another")
	if err := changed.Seal(ring, here, stored); err != nil {
		t.Fatal(err)
	}
	if changed.Request.SecretQuery["sig"] == stored.Request.SecretQuery["sig"] || changed.Request.SecretHeaders["X-Hidden"] != stored.Request.SecretHeaders["X-Hidden"] {
		t.Error("want the changed secret sealed again, and only that one")
	}
	if err := full(basicAuth).Seal(nil, here, nil); !errors.Is(err, ErrNoKeys) {
		t.Errorf("without keys: %v", err)
	}
	two := testRing(t, keyText("k2", 2), keyText("k1", 1))
	if did, err := stored.Rekey(two, here); err != nil || !did {
		t.Fatalf("%v, %v", did, err)
	}
	if did, err := stored.Rekey(two, here); err != nil || did {
		t.Errorf("a second time: %v, %v", did, err)
	}
	if _, err := stored.open(testRing(t, keyText("k2", 2)), here, mainPath); err != nil {
		t.Errorf("the new key alone: %v", err)
	}
}

// blank is the action of a client that has read it and puts it again: without secrets.
func blank(auth Authentication) *Action { return full(auth).Public() }

func TestASecretIsKeptOnlyWhereItGoesToTheSameOwner(t *testing.T) {
	here, ring := Place{"c", "j"}, testRing(t)
	oauth := Authentication{Type: OAuth, TokenURL: "https://login.example/t", ClientID: "me", ClientSecret: Plain("x")}
	entra := Authentication{Type: ActiveDirectoryOAuth, Tenant: "contoso.example", Audience: "https://a", ClientID: "me", Secret: Plain("x")}
	for name, c := range map[string]struct {
		auth   Authentication
		change func(*Action)
		kept   bool
	}{
		"nothing":               {basicAuth, func(*Action) {}, true},
		"path and query":        {basicAuth, func(a *Action) { a.Request.URI = "https://example.com/other?x" }, true},
		"the port in words":     {basicAuth, func(a *Action) { a.Request.URI = "https://EXAMPLE.com:443/" }, true},
		"body":                  {basicAuth, func(a *Action) { a.Request.Body = "" }, true},
		"host":                  {basicAuth, func(a *Action) { a.Request.URI = "https://evil.example/" }, false},
		"port":                  {basicAuth, func(a *Action) { a.Request.URI = "https://example.com:8443/" }, false},
		"scheme":                {basicAuth, func(a *Action) { a.Request.URI = "http://example.com/" }, false},
		"user":                  {basicAuth, func(a *Action) { a.Request.Authentication.Username = "bob" }, false},
		"type":                  {basicAuth, func(a *Action) { a.Request.Authentication = &Authentication{Type: Bearer} }, false},
		"OAuth as it is":        {oauth, func(*Action) {}, true},
		"OAuth's endpoint":      {oauth, func(a *Action) { a.Request.Authentication.TokenURL = "https://evil.example/t" }, false},
		"OAuth's client":        {oauth, func(a *Action) { a.Request.Authentication.ClientID = "you" }, false},
		"OAuth's request":       {oauth, func(a *Action) { a.Request.URI = "https://evil.example/" }, false},
		"tenant":                {entra, func(a *Action) { a.Request.Authentication.Tenant = "evil.example" }, false},
		"a secret header more":  {basicAuth, func(a *Action) { a.Request.SecretHeaders["X-New"] = Secret{} }, false},
		"the error's host":      {basicAuth, func(a *Action) { a.ErrorAction.Request.URI = "https://evil.example/" }, false},
		"a secret header fewer": {basicAuth, func(a *Action) { delete(a.Request.SecretHeaders, "X-Hidden") }, true},
	} {
		stored := full(c.auth)
		if err := stored.Seal(ring, here, nil); err != nil {
			t.Fatal(err)
		}
		put := blank(c.auth)
		c.change(put)
		problems := put.Keep(stored)
		if (problems == nil) != c.kept {
			t.Errorf("%s: kept %v, want %v: %v", name, problems == nil, c.kept, problems)
		}
		for _, p := range problems {
			if p.Code != "secret_required" {
				t.Errorf("%s: %v", name, p)
			}
		}
		if name == "nothing" && encoded(t, put) != encoded(t, stored) {
			t.Error("putting the action that was read is a change")
		}
		if name == "OAuth's endpoint" && !put.Request.Authentication.ClientSecret.IsZero() {
			t.Error("the secret goes to another endpoint")
		}
	}
	if problems := blank(basicAuth).Keep(nil); len(problems) != 8 { // previous secrets are not needed
		t.Errorf("without a stored action: %v", problems)
	}
}

func TestMessagesToQueuesKeepTheirKeysToo(t *testing.T) {
	ring, here := testRing(t), Place{"c", "j"}
	make := func(account, namespace string, sas, key Secret) *Action {
		return &Action{
			Type: StorageQueue, QueueMessage: &QueueMessage{StorageAccount: account, QueueName: "orders", SASToken: sas},
			ErrorAction: &Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "q", Namespace: namespace, Authentication: &BusAuthentication{"SharedAccessKey", "send", key}}},
		}
	}
	stored := make("account", "namespace", Plain("sig=1"), Plain("key"))
	if err := stored.Seal(ring, here, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		account, namespace string
		missing            []string
	}{
		{"account", "namespace", nil},
		{"another", "namespace", []string{"action.queueMessage.sasToken"}},
		{"account", "nameshare", []string{"action.errorAction.serviceBusQueueMessage.authentication.sasKey"}},
	} {
		var missing []string
		for _, p := range make(c.account, c.namespace, Secret{}, Secret{}).Keep(stored) {
			missing = append(missing, p.Field)
		}
		if !slices.Equal(missing, c.missing) {
			t.Errorf("%s, %s: missing %v, want %v", c.account, c.namespace, missing, c.missing)
		}
	}
}

func TestAnInvalidRingIsRefusedWithoutShowingKeys(t *testing.T) {
	for _, text := range []string{"", "k1", "k1:", "k1:AAAA", ":" + keyText("", 1), keyText("k 1", 1), keyText("k1", 1) + "," + keyText("k1", 2), keyText("k1", 1) + ",", "k.1" + keyText("", 1), "canary"} {
		ring, err := ParseRing(text)
		if err == nil {
			t.Errorf("%q is read as %v", text, ring)
		} else if strings.Contains(err.Error(), "AQEB") || strings.Contains(err.Error(), "canary") {
			t.Errorf("the error shows a key: %v", err)
		}
	}
}

func FuzzParseRing(f *testing.F) {
	f.Add(keyText("k2", 2) + "," + keyText("k1", 1))
	f.Add("k1:AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		ring, err := ParseRing(text)
		if err != nil {
			return
		}
		at := binding{at: Place{"c", "j"}, path: "path"}
		for version := sealedForPath; version <= newestSeal; version++ {
			sealed := ring.Sealing(version, 1).seal("text", 0, at)
			if opened, err := ring.open(sealed, at); err != nil || opened != "text" || sealed.version() != version {
				t.Errorf("version %d: %q, %v", version, opened, err)
			}
		}
	})
}

// FuzzOpenSecret: only sealed texts can be opened.
func FuzzOpenSecret(f *testing.F) {
	ring := testRing(f)
	f.Add("k1.AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA")
	f.Add("k1..")
	f.Add("2.k1.AAAAAAAAAAAAAAAA.AAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if opened, err := ring.open(Secret{text, true}, binding{at: Place{"c", "j"}, path: "path"}); err == nil {
			t.Errorf("%q opens as %q", text, opened)
		}
	})
}
