package action

import "strings"

// A QueueMessage is a message to a queue of Azure Storage. It is sent in the XML that Azure's scheduler wrapped messages in, so that those
// who read the queue need no change.
type QueueMessage struct {
	StorageAccount string `json:"storageAccount"`    // 3 to 24 of a-z 0-9
	QueueName      string `json:"queueName"`         // 3 to 63 of a-z 0-9 -
	SASToken       Secret `json:"sasToken,omitzero"` // the query of a shared access signature that may add messages
	Message        string `json:"message,omitempty"` // as it is; the XML escapes it
}

func (m *QueueMessage) prepare() {
	if m.SASToken.plain() {
		m.SASToken = Plain(strings.TrimPrefix(m.SASToken.text, "?"))
	}
}

// A BusMessage is a message to a queue or a topic of Azure Service Bus, sent over HTTPS whatever the transport type says.
type BusMessage struct {
	QueueName      string             `json:"queueName,omitempty"`                 // of a queue: segments of A-Z a-z 0-9 . _ - with / between them
	TopicPath      string             `json:"topicPath,omitempty"`                 // of a topic: likewise
	Namespace      string             `json:"namespace"`                           // 6 to 50 of A-Z a-z 0-9 -
	Authentication *BusAuthentication `json:"authentication,omitempty"`            // needed
	Message        string             `json:"message,omitempty"`                   // the body, as it is
	TransportType  string             `json:"transportType,omitempty"`             // NotSpecified, NetMessaging or AMQP: accepted, and without effect
	Brokered       *BusProperties     `json:"brokeredMessageProperties,omitempty"` // nil: only MessageId, which is the job's ID
	Custom         map[string]string  `json:"customMessageProperties,omitempty"`   // sent as headers, and checked as such
}

// A BusAuthentication is a shared access key of Azure Service Bus.
type BusAuthentication struct {
	Type       string `json:"type"`            // SharedAccessKey
	SASKeyName string `json:"sasKeyName"`      // the name of the policy, at most 256 characters
	SASKey     Secret `json:"sasKey,omitzero"` // its key
}

// BusProperties are what Azure Service Bus knows of a message besides its body.
type BusProperties struct {
	ContentType             string   `json:"contentType,omitempty"`             // what the body is
	CorrelationID           string   `json:"correlationId,omitempty"`           // for those who read it
	ForcePersistence        bool     `json:"forcePersistence,omitempty"`        // kept by the service's word
	Label                   string   `json:"label,omitempty"`                   // for those who read it
	MessageID               string   `json:"messageId,omitempty"`               // empty: the job's ID, the same in all attempts
	PartitionKey            string   `json:"partitionKey,omitempty"`            // which partition it goes to
	ReplyTo                 string   `json:"replyTo,omitempty"`                 // where an answer goes
	ReplyToSessionID        string   `json:"replyToSessionId,omitempty"`        // and in which session
	ScheduledEnqueueTimeUTC string   `json:"scheduledEnqueueTimeUtc,omitempty"` // when it appears
	SessionID               string   `json:"sessionId,omitempty"`               // of queues with sessions
	TimeToLive              Interval `json:"timeToLive,omitzero"`               // after which it is dropped; 0: the queue's own
	To                      string   `json:"to,omitempty"`                      // for those who read it
	ViaPartitionKey         string   `json:"viaPartitionKey,omitempty"`         // of transactions
}

// path is the queue or topic that the message goes to.
func (m *BusMessage) path() string {
	if m.TopicPath != "" {
		return m.TopicPath
	}
	return m.QueueName
}
