package action

import "strings"

// A QueueMessage is a message to a queue of Azure Storage. It is sent in the XML of Azure's scheduler, so the readers of the queue need
// no change.
type QueueMessage struct {
	StorageAccount string `json:"storageAccount"`    // 3 to 24 of a-z 0-9
	QueueName      string `json:"queueName"`         // 3 to 63 of a-z 0-9 -
	SASToken       Secret `json:"sasToken,omitzero"` // the query of a shared access signature that may add messages
	Message        string `json:"message,omitempty"` // any text; the XML escapes it
}

func (m *QueueMessage) prepare() {
	if m.SASToken.plain() {
		m.SASToken = Plain(strings.TrimPrefix(m.SASToken.text, "?"))
	}
}

// A BusMessage is a message to a queue or a topic of Azure Service Bus, always sent over HTTPS, with every transport type.
type BusMessage struct {
	QueueName      string             `json:"queueName,omitempty"`                 // of a queue: segments of A-Z a-z 0-9 . _ - separated by /
	TopicPath      string             `json:"topicPath,omitempty"`                 // of a topic: the same form
	Namespace      string             `json:"namespace"`                           // 6 to 50 of A-Z a-z 0-9 -
	Authentication *BusAuthentication `json:"authentication,omitempty"`            // needed
	Message        string             `json:"message,omitempty"`                   // the body, sent unchanged
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

// BusProperties are the properties of a message in Azure Service Bus.
type BusProperties struct {
	ContentType             string   `json:"contentType,omitempty"`             // the type of the body
	CorrelationID           string   `json:"correlationId,omitempty"`           // for the receiver
	ForcePersistence        bool     `json:"forcePersistence,omitempty"`        // see the service's documentation
	Label                   string   `json:"label,omitempty"`                   // for the receiver
	MessageID               string   `json:"messageId,omitempty"`               // empty: the job's ID, the same in all attempts
	PartitionKey            string   `json:"partitionKey,omitempty"`            // selects the partition
	ReplyTo                 string   `json:"replyTo,omitempty"`                 // the address of the answer
	ReplyToSessionID        string   `json:"replyToSessionId,omitempty"`        // the session of the answer
	ScheduledEnqueueTimeUTC string   `json:"scheduledEnqueueTimeUtc,omitempty"` // when it appears
	SessionID               string   `json:"sessionId,omitempty"`               // of queues with sessions
	TimeToLive              Interval `json:"timeToLive,omitzero"`               // the time after which it is dropped; 0: the queue's own
	To                      string   `json:"to,omitempty"`                      // for the receiver
	ViaPartitionKey         string   `json:"viaPartitionKey,omitempty"`         // of transactions
}

// path is the queue or topic of the message.
func (m *BusMessage) path() string {
	if m.TopicPath != "" {
		return m.TopicPath
	}
	return m.QueueName
}
