package action

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAMessageToAStorageQueueIsWrappedAsAzureDid(t *testing.T) {
	m := &QueueMessage{StorageAccount: "account", QueueName: "orders", SASToken: Plain("sv=2019&sig=a%2Fb%3D"), Message: "<hello> & é"}
	options := NewSender(SenderOptions{Region: "West"}).options
	out, err := m.outgoing(jobOf(t, to("https://example.com", nil)), &options)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.method + " " + out.url.String(); got != "POST https://account.queue.core.windows.net/orders/messages?sv=2019&sig=a%2Fb%3D" {
		t.Error(got)
	}
	var outer struct{ MessageText string }
	if err := xml.Unmarshal([]byte(out.body), &outer); err != nil {
		t.Fatal(err)
	}
	text, err := base64.StdEncoding.DecodeString(outer.MessageText)
	if err != nil || !strings.HasPrefix(string(text), `<?xml version="1.0" encoding="utf-16"?><StorageQueueMessage xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><ExecutionTag>`) {
		t.Fatalf("%v: %s", err, text)
	}
	var inner struct {
		ExecutionTag, ClientRequestID, ExpectedExecutionTime, SchedulerJobID, SchedulerJobCollectionID, Region, Message string
	}
	renamed := strings.NewReplacer("utf-16", "utf-8", "RequestId", "RequestID", "JobId", "JobID", "CollectionId", "CollectionID").Replace(string(text))
	if err := xml.Unmarshal([]byte(renamed), &inner); err != nil {
		t.Fatal(err)
	}
	if inner.Message != m.Message || inner.SchedulerJobID != "report" || inner.SchedulerJobCollectionID != "demo" || inner.Region != "West" || inner.ExpectedExecutionTime != "2027-03-01T10:00:00" || inner.ClientRequestID != "demo:report@2027-03-01T10:00:00Z" {
		t.Errorf("%+v", inner)
	}
	if !out.success(201) || out.success(200) {
		t.Error("only 201 is success")
	}
}

func TestAMessageToServiceBusIsSigned(t *testing.T) {
	now := time.Date(2027, 3, 1, 10, 0, 0, 0, time.UTC)
	m := &BusMessage{
		TopicPath: "a/b", Namespace: "namespace", Message: "hello", Authentication: &BusAuthentication{"SharedAccessKey", "send all", Plain("key")},
		Brokered: &BusProperties{Label: "é😀", TimeToLive: Interval(90 * time.Second), ContentType: "text/plain"}, Custom: map[string]string{"Priority": `"high" é`},
	}
	options := NewSender(SenderOptions{}).options
	var clean redactor
	out, err := m.outgoing(jobOf(t, to("https://example.com", nil)), now, &options, &clean)
	if err != nil {
		t.Fatal(err)
	}
	if out.url.String() != "https://namespace.servicebus.windows.net/a/b/messages" || out.body != "hello" {
		t.Errorf("%s with %q", out.url, out.body)
	}
	values, err := url.ParseQuery(strings.TrimPrefix(out.header.Get("Authorization"), "SharedAccessSignature "))
	if err != nil {
		t.Fatal(err)
	}
	const resource = "https://namespace.servicebus.windows.net/a/b"
	expiry := strconv.FormatInt(now.Add(5*time.Minute).Unix(), 10)
	mac := hmac.New(sha256.New, []byte("key"))
	mac.Write([]byte(url.QueryEscape(resource) + "\n" + expiry))
	sig := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if values.Get("sr") != resource || values.Get("se") != expiry || values.Get("skn") != "send all" || values.Get("sig") != sig {
		t.Errorf("%v", values)
	}
	if got := clean.clean(out.header.Get("Authorization")); strings.Contains(got, url.QueryEscape(sig)) {
		t.Errorf("the signature is not redacted: %s", got)
	}
	if got, want := out.header.Get("BrokerProperties"), `{"ContentType":"text/plain","Label":"\u00e9\ud83d\ude00","MessageId":"demo:report@2027-03-01T10:00:00Z","TimeToLive":90}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := out.header.Get("Priority"), `"\"high\" \u00e9"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if out.header.Get("Content-Type") != "text/plain" {
		t.Errorf("%v", out.header)
	}
}
