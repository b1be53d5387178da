package action

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
)

const sasLifetime = 5 * time.Minute

// A storageQueueMessage is the XML format of Azure's scheduler. It declares utf-16, like the original, but is UTF-8.
type storageQueueMessage struct {
	XMLName                xml.Name `xml:"StorageQueueMessage"`
	XSI                    string   `xml:"xmlns:xsi,attr"`
	XSD                    string   `xml:"xmlns:xsd,attr"`
	ExecutionTag           string
	ClientRequestID        string `xml:"ClientRequestId"`
	ExpectedExecutionTime  string
	SchedulerJobID         string `xml:"SchedulerJobId"`
	SchedulerJobCollection string `xml:"SchedulerJobCollectionId"`
	Region                 string
	Message                string
}

func created(status int) bool { return status == http.StatusCreated }

// outgoing adds the message to its queue.
func (m *QueueMessage) outgoing(job *chime.Job, o *SenderOptions) (*outgoing, error) {
	at := placeOf(job)
	inner, err := xml.Marshal(storageQueueMessage{
		XSI: "http://www.w3.org/2001/XMLSchema-instance", XSD: "http://www.w3.org/2001/XMLSchema",
		ExecutionTag: strconv.FormatInt(job.Fence, 10), ClientRequestID: job.ID, ExpectedExecutionTime: plannedOf(job).UTC().Format("2006-01-02T15:04:05"),
		SchedulerJobID: at.Job, SchedulerJobCollection: at.Collection, Region: o.Region, Message: m.Message,
	})
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString(append([]byte(`<?xml version="1.0" encoding="utf-16"?>`), inner...))
	u, err := parseURI("https://" + m.StorageAccount + ".queue." + o.StorageSuffix + "/" + m.QueueName + "/messages?" + m.SASToken.text)
	if err != nil {
		return nil, err
	}
	header := http.Header{"User-Agent": {o.UserAgent}, "Content-Type": {"application/xml"}, "X-Ms-Version": {"2019-12-12"}}
	return &outgoing{"POST", u, header, "<QueueMessage><MessageText>" + text + "</MessageText></QueueMessage>", created}, nil
}

// plannedOf is the planned time of a job; for an error action, of the failed job.
func plannedOf(job *chime.Job) time.Time {
	if isOnDeath(job) {
		return job.Death.Planned
	}
	return job.Planned
}

// brokerProperties is the content of the header BrokerProperties.
type brokerProperties struct {
	ContentType             string  `json:",omitempty"`
	CorrelationID           string  `json:"CorrelationId,omitempty"`
	ForcePersistence        bool    `json:",omitempty"`
	Label                   string  `json:",omitempty"`
	MessageID               string  `json:"MessageId"`
	PartitionKey            string  `json:",omitempty"`
	ReplyTo                 string  `json:",omitempty"`
	ReplyToSessionID        string  `json:"ReplyToSessionId,omitempty"`
	ScheduledEnqueueTimeUTC string  `json:"ScheduledEnqueueTimeUtc,omitempty"`
	SessionID               string  `json:"SessionId,omitempty"`
	TimeToLive              float64 `json:",omitempty"` // seconds
	To                      string  `json:",omitempty"`
	ViaPartitionKey         string  `json:",omitempty"`
}

// outgoing sends the message with a signature that is valid for five minutes.
func (m *BusMessage) outgoing(job *chime.Job, now time.Time, o *SenderOptions, clean *redactor) (*outgoing, error) {
	u, err := parseURI("https://" + m.Namespace + ".servicebus." + o.BusSuffix + "/" + m.path() + "/messages")
	if err != nil {
		return nil, err
	}
	properties := brokerProperties{MessageID: job.ID}
	header := http.Header{"User-Agent": {o.UserAgent}}
	for name, value := range m.Custom {
		quoted, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		header.Set(name, asciiJSON(quoted)) // the quotes mark a string
	}
	if b := m.Brokered; b != nil {
		properties = brokerProperties{
			b.ContentType, b.CorrelationID, b.ForcePersistence, b.Label, b.MessageID, b.PartitionKey, b.ReplyTo, b.ReplyToSessionID,
			b.ScheduledEnqueueTimeUTC, b.SessionID, time.Duration(b.TimeToLive).Seconds(), b.To, b.ViaPartitionKey,
		}
		if b.MessageID == "" {
			properties.MessageID = job.ID
		}
		if b.ContentType != "" {
			header.Set("Content-Type", asciiText(b.ContentType, 256))
		}
	}
	encoded, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	header.Set("BrokerProperties", asciiJSON(encoded))
	token, signature := m.signature("https://"+u.Host+"/"+m.path(), now.Add(sasLifetime))
	clean.add(signature)
	header.Set("Authorization", token)
	return &outgoing{"POST", u, header, m.Message, created}, nil
}

// signature is a shared access signature for a resource until an instant.
func (m *BusMessage) signature(resource string, until time.Time) (token, signature string) {
	escaped, expiry := url.QueryEscape(resource), strconv.FormatInt(until.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(m.Authentication.SASKey.text))
	mac.Write([]byte(escaped + "\n" + expiry))
	signature = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return "SharedAccessSignature sr=" + escaped + "&sig=" + url.QueryEscape(signature) + "&se=" + expiry + "&skn=" + url.QueryEscape(m.Authentication.SASKeyName), signature
}

// asciiJSON is JSON for a header: characters beyond ASCII are escaped.
func asciiJSON(data []byte) string {
	var out []byte
	for _, r := range string(data) {
		switch {
		case r < 0x80:
			out = append(out, byte(r))
		default:
			quoted := strconv.QuoteToASCII(string(r)) // \u00e9, or \U0001f600 for characters above U+FFFF
			if r > 0xffff {
				r -= 0x10000
				quoted = `"\u` + strconv.FormatInt(int64(0xd800+r>>10), 16) + `\u` + strconv.FormatInt(int64(0xdc00+r&0x3ff), 16) + `"`
			}
			out = append(out, quoted[1:len(quoted)-1]...)
		}
	}
	return string(out)
}
