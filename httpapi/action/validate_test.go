package action

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chimejobs/chime"
)

// codes are the mistakes as code and field.
func codes(problems []Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Code+" "+p.Field)
	}
	return all
}

func to(uri string, change func(*Request)) *Action {
	r := &Request{URI: uri, Method: "POST"}
	if change != nil {
		change(r)
	}
	return &Action{Type: HTTPS, Request: r}
}

func request(change func(*Request)) *Action { return to("https://example.com/", change) }

func counted(n int) *int { return &n }

// withSecrets is an action with a number of secrets, and with another number in its error action.
func withSecrets(main, onError int) *Action {
	some := func(n int) *Action {
		return request(func(r *Request) {
			r.SecretQuery = map[string]Secret{}
			for i := range n {
				r.SecretQuery[fmt.Sprint("p", i)] = Plain("canary")
			}
		})
	}
	a := some(main)
	a.ErrorAction = some(onError)
	return a
}

func TestEachMistakeHasItsCodeAndItsField(t *testing.T) {
	local, err := ParseNet("127.0.0.1:9000")
	if err != nil {
		t.Fatal(err)
	}
	rules := Rules{Egress: Egress{AllowNets: []Net{local}}}
	retried := func(p RetryPolicy) *Action {
		a := request(nil)
		a.RetryPolicy = &p
		return a
	}
	headers := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("X-%d", i)] = ""
		}
		return all
	}
	queue := QueueMessage{StorageAccount: "account", QueueName: "orders", SASToken: Plain("sv=1&sig=a%2Fb")}
	bus := BusMessage{QueueName: "a/b", Namespace: "namespace", Authentication: &BusAuthentication{"SharedAccessKey", "send", Plain("key")}}
	for name, c := range map[string]struct {
		action *Action
		want   []string
	}{
		"nothing wrong":              {request(nil), nil},
		"an address that is allowed": {to("http://127.0.0.1:9000/", nil), nil},
		"no type":                    {&Action{}, []string{"action_type action.type"}},
		"another type":               {&Action{Type: "tcp", Request: &Request{URI: "https://example.com/"}}, []string{"action_type action.type"}},
		"a request without a type":   {&Action{Request: &Request{URI: "https://example.com/"}}, []string{"action_type action.type"}},
		"credentials without a type": {
			request(func(r *Request) { r.Authentication = &Authentication{Username: "u", Password: Plain("p")} }), []string{"auth_type action.request.authentication.type"},
		},
		"no request":                   {&Action{Type: HTTP}, []string{"required action.request"}},
		"two parts":                    {&Action{Type: HTTP, Request: &Request{URI: "http://example.com"}, Job: &JobTarget{Name: "x"}}, []string{"conflict action.job"}},
		"no URI":                       {to("", nil), []string{"required action.request.uri"}},
		"relative":                     {to("/r", nil), []string{"uri action.request.uri"}},
		"ftp":                          {to("ftp://example.com/", nil), []string{"uri action.request.uri"}},
		"opaque":                       {to("http:example.com", nil), []string{"uri action.request.uri"}},
		"no host":                      {to("http://:80/", nil), []string{"uri action.request.uri"}},
		"a user":                       {to("https://a:b@example.com/", nil), []string{"uri action.request.uri"}},
		"a fragment":                   {to("https://example.com/#x", nil), []string{"uri action.request.uri"}},
		"a backslash":                  {to(`https://example.com\@evil/`, nil), []string{"uri action.request.uri"}},
		"a line break":                 {to("https://example.com/\r\nX: 1", nil), []string{"uri action.request.uri"}},
		"an invalid port":              {to("https://example.com:70000/", nil), []string{"uri action.request.uri"}},
		"beyond ASCII":                 {to("https://bücher.example/", nil), []string{"uri action.request.uri"}},
		"a long URI":                   {to("https://example.com/"+strings.Repeat("x", 2048), nil), []string{"uri action.request.uri"}},
		"loopback":                     {to("http://127.0.0.1:9001/", nil), []string{"destination_blocked action.request.uri"}},
		"loopback in another spelling": {to("http://0x7f.1/", nil), []string{"destination_blocked action.request.uri"}},
		"the metadata service":         {to("http://169.254.169.254/latest", nil), []string{"destination_blocked action.request.uri"}},
		"a public address":             {to("https://8.8.8.8/", nil), []string{"destination_blocked action.request.uri"}},
		"localhost":                    {to("https://localhost/", nil), []string{"destination_blocked action.request.uri"}},
		"IPv6":                         {to("https://[::1]/", nil), []string{"destination_blocked action.request.uri"}},
		"another method":               {request(func(r *Request) { r.Method = "TRACE" }), []string{"method action.request.method"}},
		"a reserved header":            {request(func(r *Request) { r.Headers = map[string]string{"Chime-Fence": "1", "HOST": "x", "Proxy-X": ""} }), []string{`header_name action.request.headers["Chime-Fence"]`, `header_name action.request.headers["HOST"]`, `header_name action.request.headers["Proxy-X"]`}},
		"a header twice":               {request(func(r *Request) { r.Headers = map[string]string{"X-A": "1", "x-a": "2"} }), []string{`header_name action.request.headers["x-a"]`}},
		"a header twice, once secret": {request(func(r *Request) {
			r.Headers = map[string]string{"X-A": "1"}
			r.SecretHeaders = map[string]Secret{"x-a": Plain("2")}
		}), []string{`header_name action.request.secretHeaders["x-a"]`}},
		"a header with an invalid name": {request(func(r *Request) { r.Headers = map[string]string{"X A": "1"} }), []string{`header_name action.request.headers["X A"]`}},
		"a value with a line break":     {request(func(r *Request) { r.Headers = map[string]string{"X-A": "1\r\nX-B: 2"} }), []string{`header_value action.request.headers["X-A"]`}},
		"a secret with a line break":    {request(func(r *Request) { r.SecretHeaders = map[string]Secret{"X-A": Plain("canary\n")} }), []string{`header_value action.request.secretHeaders["X-A"]`}},
		"100 secrets in each action":    {withSecrets(100, 100), nil},
		"101 secrets":                   {withSecrets(101, 0), []string{"secret_count action"}},
		"101 secrets in error action":   {withSecrets(0, 101), []string{"secret_count action.errorAction"}},
		"many headers":                  {request(func(r *Request) { r.Headers = headers(51) }), []string{"header_count action.request.headers"}},
		"long headers":                  {request(func(r *Request) { r.Headers = map[string]string{"X": strings.Repeat("x", 4096)} }), []string{"header_size action.request.headers"}},
		"a long body":                   {request(func(r *Request) { r.Body = strings.Repeat("é", 8193) }), []string{"body_size action.request.body", "job_size action"}},
		"the longest body":              {request(func(r *Request) { r.Body = strings.Repeat("x", 8192) }), nil},
		"large":                         {request(func(r *Request) { r.Body = strings.Repeat("\x01", 8000) }), []string{"job_size action"}},
		"another authentication":        {request(func(r *Request) { r.Authentication = &Authentication{Type: "Digest"} }), []string{"auth_type action.request.authentication.type"}},
		"Basic without its parts":       {request(func(r *Request) { r.Authentication = &Authentication{Type: Basic} }), []string{"required action.request.authentication.username", "secret_required action.request.authentication.password"}},
		"Basic with a colon": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: Basic, Username: "a:b", Password: Plain("canary")}
		}), []string{"name action.request.authentication.username"}},
		"parts of another type": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: Bearer, Token: Plain("canary"), Tenant: "x"}
		}), []string{"conflict action.request.authentication.tenant"}},
		"a token with a line break": {request(func(r *Request) { r.Authentication = &Authentication{Type: Bearer, Token: Plain("canary\n")} }), []string{"header_value action.request.authentication.token"}},
		"Authorization given twice": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: Bearer, Token: Plain("canary")}
			r.SecretHeaders = map[string]Secret{"authorization": Plain("x")}
		}), []string{`conflict action.request.secretHeaders["authorization"]`}},
		"a tenant that is a path": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: ActiveDirectoryOAuth, Tenant: "x/../y", Audience: "a", ClientID: "c", Secret: Plain("canary")}
		}), []string{"name action.request.authentication.tenant"}},
		"a tenant with a user": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: ActiveDirectoryOAuth, Tenant: "x@evil.example", Audience: "a", ClientID: "c", Secret: Plain("canary")}
		}), []string{"name action.request.authentication.tenant"}},
		"a token from inside": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: OAuth, TokenURL: "http://10.0.0.1/", ClientID: "c", ClientSecret: Plain("canary"), Style: "x"}
		}), []string{"destination_blocked action.request.authentication.tokenUrl", "insecure_credentials action.request.authentication.tokenUrl", "type action.request.authentication.style"}},
		"credentials in clear":         {to("http://example.com/?canary", func(r *Request) { r.Authentication = &Authentication{Type: Bearer, Token: Plain("canary")} }), []string{"insecure_credentials action.request.uri"}},
		"a signature in clear":         {to("http://example.com/", func(r *Request) { r.Signing = &Signing{Secret: Plain(secretKey)} }), []string{"insecure_credentials action.request.uri"}},
		"a short signing secret":       {request(func(r *Request) { r.Signing = &Signing{Secret: Plain("whsec_AAAA"), PreviousSecret: Plain("canary")} }), []string{"signing_secret action.request.signing.secret", "signing_secret action.request.signing.previousSecret"}},
		"a long timeout":               {request(func(r *Request) { r.Timeout = Interval(31 * time.Minute) }), []string{"timeout_range action.request.timeout"}},
		"invalid success codes":        {request(func(r *Request) { r.SuccessCodes = []string{"200-299", "500", "299-200", "+20"} }), []string{"success_codes action.request.successCodes[1]", "success_codes action.request.successCodes[2]", "success_codes action.request.successCodes[3]"}},
		"many redirects":               {request(func(r *Request) { r.Redirects = 6 }), []string{"redirects_range action.request.redirects"}},
		"another retry":                {retried(RetryPolicy{Type: "linear"}), []string{"retry_type action.retryPolicy.retryType"}},
		"none":                         {retried(RetryPolicy{Type: RetryNone}), nil},
		"the shortest and the most":    {retried(RetryPolicy{Interval: Interval(15 * time.Second), Count: counted(20)}), nil},
		"too short and too many":       {retried(RetryPolicy{Interval: Interval(14 * time.Second), Count: counted(21)}), []string{"retry_interval action.retryPolicy.retryInterval", "retry_count action.retryPolicy.retryCount"}},
		"18 months":                    {retried(RetryPolicy{Interval: Interval(548 * day), Count: counted(0)}), nil},
		"longer":                       {retried(RetryPolicy{Interval: Interval(549 * day)}), []string{"retry_interval action.retryPolicy.retryInterval"}},
		"exponential":                  {retried(RetryPolicy{Type: RetryExponential, Interval: Interval(time.Minute), Count: counted(100), Max: Interval(time.Hour)}), nil},
		"exponential, falling":         {retried(RetryPolicy{Type: RetryExponential, Interval: Interval(time.Hour), Max: Interval(time.Minute), Count: counted(101)}), []string{"retry_interval action.retryPolicy.maxInterval", "retry_count action.retryPolicy.retryCount"}},
		"a job":                        {&Action{Type: Job, Job: &JobTarget{Name: "mail.send", Queue: "mail", Payload: []byte(`{}`)}}, nil},
		"a job with a bad name":        {&Action{Type: Job, Job: &JobTarget{Name: "a b", Queue: "{x}", Payload: []byte(`{`), Body: "x"}}, []string{"name action.job.name", "queue action.job.queue", "conflict action.job.body", "type action.job.payload"}},
		"a queue in an error action":   {&Action{Type: HTTPS, Request: &Request{URI: "https://example.com"}, ErrorAction: &Action{Type: Job, Job: &JobTarget{Name: "x", Queue: "mail"}}}, []string{"queue action.errorAction.job.queue"}},
		"an error action of one":       {&Action{Type: Job, Job: &JobTarget{Name: "x"}, ErrorAction: &Action{Type: Job, Job: &JobTarget{Name: "x"}, ErrorAction: &Action{Type: Job, Job: &JobTarget{Name: "x"}}}}, []string{"conflict action.errorAction.errorAction"}},
		"a storage queue":              {&Action{Type: StorageQueue, QueueMessage: &queue}, nil},
		"an account that is a host":    {&Action{Type: StorageQueue, QueueMessage: &QueueMessage{StorageAccount: "evil.example/#", QueueName: "../x", SASToken: Plain("sig=canary#@/x y")}}, []string{"name action.queueMessage.storageAccount", "name action.queueMessage.queueName", "name action.queueMessage.sasToken"}},
		"a message that XML forbids":   {&Action{Type: StorageQueue, QueueMessage: &QueueMessage{StorageAccount: "account", QueueName: "orders", SASToken: Plain("sv=1"), Message: "a\tb\x00c"}}, []string{"type action.queueMessage.message"}},
		"a Service Bus queue":          {&Action{Type: ServiceBusQueue, BusQueueMessage: &bus}, nil},
		"a namespace that is a host":   {&Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "a/../b", Namespace: "evil.example/@", Authentication: bus.Authentication}}, []string{"name action.serviceBusQueueMessage.namespace", "name action.serviceBusQueueMessage.queueName"}},
		"a queue's message to a topic": {&Action{Type: ServiceBusTopic, BusTopicMessage: &bus}, []string{"conflict action.serviceBusTopicMessage.queueName"}},
		"reserved properties":          {&Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "q", Namespace: "namespace", Authentication: bus.Authentication, TransportType: "UDP", Custom: map[string]string{"Authorization": "x", "BrokerProperties": "x", "X": "a\nb"}}}, []string{"type action.serviceBusQueueMessage.transportType", `header_value action.serviceBusQueueMessage.customMessageProperties["X"]`, `header_name action.serviceBusQueueMessage.customMessageProperties["Authorization"]`, `header_name action.serviceBusQueueMessage.customMessageProperties["BrokerProperties"]`}},
		"another kind of key":          {&Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "q", Namespace: "namespace", Authentication: &BusAuthentication{Type: "x"}}}, []string{"auth_type action.serviceBusQueueMessage.authentication.type", "name action.serviceBusQueueMessage.authentication.sasKeyName"}},
	} {
		problems := c.action.Validate(rules)
		if !slices.Equal(codes(problems), c.want) {
			t.Errorf("%s: %q, want %q", name, codes(problems), c.want)
		}
		for _, p := range problems {
			if p.Detail == "" || len(p.Value) > 100 || strings.Contains(p.Value+p.Detail, "canary") {
				t.Errorf("%s: a problem has %+v", name, p)
			}
		}
	}
}

func TestLimitsCanBeRaisedToTheirBound(t *testing.T) {
	a := request(func(r *Request) { r.Body = strings.Repeat("x", 300_000) })
	for _, c := range []struct {
		limits Limits
		want   []string
	}{
		{Limits{}, []string{"body_size action.request.body", "job_size action"}},
		{Limits{JobBytes: 1 << 30}, []string{"body_size action.request.body"}},
		{Limits{JobBytes: 1 << 30, BodyChars: 1 << 30}, []string{"body_size action.request.body"}}, // 256 Ki at most
	} {
		if got := codes(a.Validate(Rules{Limits: c.limits})); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.limits, got, c.want)
		}
	}
}

// An error action is stored with every job, so chime bounds its size.
func TestAnErrorActionHasABoundOfItsOwn(t *testing.T) {
	long := request(func(r *Request) { r.Body = strings.Repeat("x", 60_000) })
	long.ErrorAction = request(func(r *Request) {
		r.Body, r.SecretQuery = strings.Repeat("x", 60_000), map[string]Secret{"a": Plain(strings.Repeat("x", 5000))}
	})
	rules := Rules{Limits: Limits{JobBytes: 512 << 10, BodyChars: 256 << 10}}
	if got := codes(long.Validate(rules)); !slices.Equal(got, []string{"job_size action.errorAction"}) {
		t.Errorf("%q", got)
	}
	long.ErrorAction.Request.SecretQuery["a"] = Plain("x")
	if got := long.Validate(rules); got != nil {
		t.Errorf("%q", codes(got))
	}
	if err := long.Seal(testRing(t), Place{"c", "j"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := long.Item(); err != nil {
		t.Error(err)
	}
}

func TestHeadersThatAreSecretsByTheirNameBecomeSecret(t *testing.T) {
	a := to("https://example.com/", func(r *Request) {
		r.Method, r.Body = "", "x"
		r.Headers = map[string]string{"Authorization": "1", "COOKIE": "2", "X-Api-Key": "3", "x-token": "4", "Client-Secret": "5", "OurApiKeyHere": "6", "Accept": "7", "X-Keys": "8"}
	})
	if problems := a.Prepare(t.Context(), nil); problems != nil {
		t.Fatal(problems)
	}
	r := a.Request
	if len(r.Headers) != 2 || r.Headers["Accept"] != "7" || r.Headers["X-Keys"] != "8" || len(r.SecretHeaders) != 6 || r.SecretHeaders["COOKIE"].text != "2" {
		t.Errorf("open %v, secret %v", r.Headers, r.SecretHeaders)
	}
	if r.Method != "POST" {
		t.Errorf("a request with a body is sent with %s", r.Method)
	}
}

func TestIntervalsAreReadAsAzureWritesThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"PT30S": 30 * time.Second, "PT1M": time.Minute, "P1D": day, "PT1D": day, "P18M": 540 * day, "P1Y": 365 * day, "P2W": 14 * day, "P1DT12H": 36 * time.Hour,
		"PT1.5S": 1500 * time.Millisecond, "PT90M": 90 * time.Minute, "00:00:30": 30 * time.Second, "0:30:00": 30 * time.Minute, "1.00:00:00": day,
		"23:59:59": day - time.Second, "00:00:01.5": 1500 * time.Millisecond, "PT0S": 0, "10675199.00:00:00": -1, "P99999999999999999999D": -1,
		"": -1, "P": -1, "PT": -1, "P1DT": -1, "30": -1, "30s": -1, "PT1H1D": -1, "-PT1S": -1, "PT-1S": -1, "24:00:00": -1, "00:60:00": -1, "00:00:60": -1,
		"P1.5D": -1, "PT1.0001S": -1, "pt30s": -1, " PT30S": -1, "P101Y": -1, "00:00:00.0000001": -1,
	} {
		got, err := ParseInterval(text)
		if want < 0 && err == nil || want >= 0 && (err != nil || time.Duration(got) != want) {
			t.Errorf("%q is read as %v, %v; want %v", text, time.Duration(got), err, want)
		}
	}
	for d, want := range map[time.Duration]string{
		30 * time.Second: "PT30S", 90 * time.Second: "PT1M30S", day: "P1D", 36 * time.Hour: "P1DT12H", 1500 * time.Millisecond: "PT1.5S", 540 * day: "P540D",
	} {
		if got := Interval(d).String(); got != want {
			t.Errorf("%v is written as %s, want %s", d, got, want)
		}
	}
}

func TestOnlyJobsThatAreNamedMayBeReached(t *testing.T) {
	for _, c := range []struct {
		name, queue, entry string
		permitted          bool
	}{
		{"mail.send", "", "mail.*", true},
		{"mail.send", "tenant", "mail.*", true}, // the collection's own, named
		{"mail.send", "other", "mail.*", false},
		{"mail.send", "other", "mail.*@other", true},
		{"mail.send", "other", "*@*", true},
		{"mail.send", "", "mail", false},
		{"xmail.send", "", "mail.*", false},
		{"mailxsend", "", "mail.*", false},
		{"chime.action", "", "*", false},
		{"chime.action", "", "chime.action", false},
		{"mail.send", "", "", false},
	} {
		target := &JobTarget{Name: c.name, Queue: c.queue}
		if got := target.Permitted([]string{c.entry}, "tenant"); got != c.permitted {
			t.Errorf("%s@%s by %q: %v, want %v", c.name, c.queue, c.entry, got, c.permitted)
		}
	}
}

func TestOnlyWhatWasEncodedIsDecoded(t *testing.T) {
	a := full(basicAuth)
	a.RetryPolicy, a.Request.Timeout, a.Request.SuccessCodes, a.Request.Body = &RetryPolicy{Type: RetryFixed, Interval: Interval(time.Minute), Count: counted(0)}, Interval(time.Minute), []string{"200-299"}, "<é>\n"
	if err := a.Seal(testRing(t), Place{"c", "j"}, nil); err != nil {
		t.Fatal(err)
	}
	data := encoded(t, a)
	b, err := Decode([]byte(data))
	if err != nil || encoded(t, b) != data {
		t.Fatalf("%v: %s", err, data)
	}
	small := `{"type":"https","request":{"uri":"https://example.com/"}}`
	if _, err := Decode([]byte(small)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "null", "[]", "{", " " + small, small + " ", strings.Replace(small, "uri", "URI", 1), strings.Replace(small, `"type"`, `"type":"http","type"`, 1), strings.Replace(small, "}}", `,"body":""}}`, 1),
		strings.Replace(small, "}}", `,"extra":1}}`, 1), strings.Replace(small, "}}", `,"authentication":{"type":"Bearer","token":"canary"}}}`, 1), strings.Replace(small, "}}", `,"timeout":"PT60S"}}`, 1),
	} {
		if _, err := Decode([]byte(bad)); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestAnItemCarriesRetriesAndTheErrorAction(t *testing.T) {
	a := full(basicAuth)
	if _, err := a.Item(); err == nil {
		t.Error("an item has plain secrets")
	}
	if err := a.Seal(testRing(t), Place{"c", "j"}, nil); err != nil {
		t.Fatal(err)
	}
	item, err := a.Item()
	if err != nil || item.Name != JobName || len(item.Options) != 4 {
		t.Errorf("%v: %v with %d options", err, item, len(item.Options))
	}
	job := &Action{Type: Job, Job: &JobTarget{Name: "mail", Payload: []byte(`{"a":1}`)}}
	if item, err := job.Item(); err != nil || item.Name != "mail" || fmt.Sprintf("%s", item.Args) != `{"a":1}` {
		t.Errorf("%v: %v", err, item)
	}
	for _, c := range []struct {
		policy  RetryPolicy
		attempt int
		want    time.Duration
	}{
		{RetryPolicy{}, 1, 30 * time.Second}, {RetryPolicy{Interval: Interval(time.Hour)}, 7, time.Hour},
		{RetryPolicy{Type: RetryExponential, Interval: Interval(time.Minute), Max: Interval(5 * time.Minute)}, 1, time.Minute},
		{RetryPolicy{Type: RetryExponential, Interval: Interval(time.Minute), Max: Interval(5 * time.Minute)}, 3, 4 * time.Minute},
		{RetryPolicy{Type: RetryExponential, Interval: Interval(time.Minute), Max: Interval(5 * time.Minute)}, 90, 5 * time.Minute},
	} {
		if got := c.policy.orDefault().wait(c.attempt); got != c.want {
			t.Errorf("%+v waits %v after attempt %d, want %v", c.policy, got, c.attempt, c.want)
		}
	}
	long := RetryPolicy{Interval: Interval(548 * day)}
	sender := NewSender(SenderOptions{})
	if got := chime.OutcomeOf(sender.failed(long.orDefault(), &chime.Job{Attempt: 1}, errTimeout)); got.Delay != 548*day {
		t.Errorf("548 days are %v", got.Delay)
	}
}

func TestAURIThatIsRefusedIsShownWithoutItsSecrets(t *testing.T) {
	for uri, want := range map[string]string{
		"https://me:canary@example.com/a":     "https://(secret)@example.com/a",
		"https://me:can/ary@example.com/a":    "https://(secret)@example.com/a",
		"https://example.com/ a?sig=canary":   "https://example.com/ a",
		"https://example.com/a#canary":        "https://example.com/a",
		"me:canary@example.com":               "(secret)@example.com",
		"ftp://example.com/a":                 "ftp://example.com/a",
		"ftp://me:canary@example.com/?canary": "ftp://(secret)@example.com/",
		"https://me:can?ary@example.com/":     "https://(secret)",
		"https://me:can/a#ry@example.com/":    "https://(secret)",
		"me:can?ary@example.com":              "(secret)",
	} {
		a := request(func(r *Request) { r.URI = uri })
		a.Prepare(t.Context(), nil)
		problems := a.Validate(Rules{})
		if len(problems) == 0 || problems[0].Code != "uri" || problems[0].Value != want {
			t.Errorf("%s: got %+v, want uri with the value %s", uri, problems, want)
		}
	}
}

func FuzzParseInterval(f *testing.F) {
	for _, text := range []string{"PT30S", "P1DT12H", "1.00:00:00", "PT1D", "P18M"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseInterval(text)
		if err != nil {
			return
		}
		if again, err := ParseInterval(d.String()); err != nil || again != d || d < 0 {
			t.Errorf("%q is %v, written %s, read %v, %v", text, time.Duration(d), d, time.Duration(again), err)
		}
	})
}

// FuzzValidateURI: an accepted URI has the destination that it shows, by http or https.
func FuzzValidateURI(f *testing.F) {
	for _, text := range []string{"https://example.com/", "http://127.0.0.1/", "https://a@b/", "http://[::1]:80/", `http://a\@b`, "http://0x7f.1/", "http://0000!%80"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		problems := to(text, nil).Validate(Rules{})
		for _, p := range problems {
			if len(p.Value) > 100 || utf8.ValidString(text) && !utf8.ValidString(p.Value) {
				t.Errorf("%q: %+v", text, p)
			}
		}
		if problems != nil {
			return
		}
		if origin(text) == "" || !strings.HasPrefix(origin(text), "http") {
			t.Errorf("%q passes and leads to %q", text, origin(text))
		}
	})
}

// FuzzDecode: decoded bytes are encoded to the same bytes, and no payload makes the process fail.
func FuzzDecode(f *testing.F) {
	a := full(basicAuth)
	if err := a.Seal(testRing(f), Place{"c", "j"}, nil); err != nil {
		f.Fatal(err)
	}
	data, err := Encode(a)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"type":"https","request":{"uri":"https://example.com/"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Decode(data)
		if err != nil {
			return
		}
		a.Validate(Rules{})
		if again, err := Encode(a.Clone()); err != nil || string(again) != string(data) {
			t.Errorf("%s is written as %s, %v", data, again, err)
		}
	})
}
