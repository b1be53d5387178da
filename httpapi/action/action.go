// Package action performs the HTTP actions of jobs: it sends a request to a URL, signed, with credentials and with the job's retries, or a message to
// a queue of Azure. It is a [chime.Handler] and needs nothing else of this module:
//
//	sender := action.NewSender(action.SenderOptions{Secrets: ring})
//	worker.Handle(action.JobName, sender.Handle)
//
//	call := &action.Action{Type: action.HTTPS, Request: &action.Request{URI: "https://example.com/report", Method: "POST"}}
//	item, err := call.Item()
//	receipts, err := enqueuer.EnqueueMany(ctx, []chime.Item{item})
//
// An action from somebody else goes through five steps before it is stored: [Action.Prepare] converts it to the stored form, [Action.Keep] restores
// secrets that were left out, [Action.Validate] returns all mistakes, [Action.Seal] encrypts its secrets, and [Action.Item] or [Encode] converts it to the
// payload of a job. A secret that is not sealed cannot be encoded.
//
// A Sender connects to public addresses only, unless its [Egress] allows others. An attempt that was not refused sends one request, and one more for
// each redirect that it follows. It repeats nothing: a request without an answer is a failed attempt, and the next attempt has the same Idempotency-Key.
// After a crash of the process an attempt may be made twice; the second one has a larger Chime-Fence.
package action

import "github.com/chimejobs/chime"

// JobName is the name of the jobs that a Sender handles.
const JobName = "chime.action"

// A Type is the kind of an action.
type Type string

// The types of actions. HTTP and HTTPS mean the same: the scheme is that of the request's URI.
const (
	HTTP            Type = "http"            // a request, see Request
	HTTPS           Type = "https"           // a request, see Request
	Job             Type = "job"             // a job of the program, see JobTarget; it needs no Sender
	StorageQueue    Type = "storageQueue"    // a message to a queue of Azure Storage, see QueueMessage
	ServiceBusQueue Type = "serviceBusQueue" // a message to a queue of Azure Service Bus, see BusMessage
	ServiceBusTopic Type = "serviceBusTopic" // a message to a topic of Azure Service Bus, see BusMessage
)

// An Action is the work of a job's run, and the work after the run has failed permanently. The part that belongs to its Type is set, the
// others are nil.
type Action struct {
	Type            Type          `json:"type"`                             // the kind of the action
	Request         *Request      `json:"request,omitempty"`                // of HTTP and HTTPS
	Job             *JobTarget    `json:"job,omitempty"`                    // of Job
	QueueMessage    *QueueMessage `json:"queueMessage,omitempty"`           // of StorageQueue
	BusQueueMessage *BusMessage   `json:"serviceBusQueueMessage,omitempty"` // of ServiceBusQueue
	BusTopicMessage *BusMessage   `json:"serviceBusTopicMessage,omitempty"` // of ServiceBusTopic
	RetryPolicy     *RetryPolicy  `json:"retryPolicy,omitempty"`            // nil: 4 times, 30 s apart; of an error action: the main action's policy
	Excerpt         Excerpt       `json:"excerpt,omitempty"`                // when the note of an attempt contains part of the answer's body
	ErrorAction     *Action       `json:"errorAction,omitempty"`            // run once when the job is dead; it has no error action itself
}

// An Excerpt selects the answers whose body is partly noted, see [chime.Job.Note].
type Excerpt string

// The values of Excerpt.
const (
	ExcerptOfFailures Excerpt = ""       // of answers that count as failures; the default
	ExcerptAlways     Excerpt = "always" // of all answers
	ExcerptNever      Excerpt = "never"  // of none
)

// parts returns the parts of an action that only one type has, in the order of the struct.
func (a *Action) parts() []part {
	return []part{
		{"request", a.Request != nil, []Type{HTTP, HTTPS}},
		{"job", a.Job != nil, []Type{Job}},
		{"queueMessage", a.QueueMessage != nil, []Type{StorageQueue}},
		{"serviceBusQueueMessage", a.BusQueueMessage != nil, []Type{ServiceBusQueue}},
		{"serviceBusTopicMessage", a.BusTopicMessage != nil, []Type{ServiceBusTopic}},
	}
}

// A part is a field of an action that only some types have.
type part struct {
	field string
	set   bool
	types []Type
}

// Item returns the job for the action: a [JobName] with the action in canonical JSON or, of type Job, the job of the program. It has the
// action's retries, timeout and error action. both are further options of the job and of its error action's, such as [chime.Group]. The error is an
// unsealed secret, or an option that chime refuses.
//
// The enqueuer sets the ID. A schedule takes Name, Args and [Action.Options] instead.
func (a *Action) Item(both ...chime.JobOption) (chime.Item, error) {
	name, args, err := a.payload()
	if err != nil {
		return chime.Item{}, err
	}
	options, err := a.Options(both...)
	if err != nil {
		return chime.Item{}, err
	}
	item := chime.Item{Name: name, Args: args}
	for _, option := range options {
		item.Options = append(item.Options, option)
	}
	if a.Type == Job && a.Job.Queue != "" {
		item.Options = append(item.Options, chime.Queue(a.Job.Queue))
	}
	return item, nil
}

// Options are the options of a schedule or a job, except its name, arguments and queue: the action's retries, timeout and error action. both are
// further options of the job and of its error action's. The error is an error action that cannot be encoded.
func (a *Action) Options(both ...chime.JobOption) ([]chime.JobOption, error) {
	policy := a.RetryPolicy.orDefault()
	options := append(policy.options(), both...)
	if timeout := a.jobTimeout(); timeout > 0 {
		options = append(options, chime.Timeout(timeout))
	}
	if a.ErrorAction == nil {
		return options, nil
	}
	follow := a.follow()
	name, args, err := follow.payload()
	if err != nil {
		return nil, err
	}
	item := chime.Item{Name: name, Args: args}
	for _, option := range follow.RetryPolicy.orDefault().options() {
		item.Options = append(item.Options, option)
	}
	for _, option := range both {
		item.Options = append(item.Options, option)
	}
	if timeout := follow.jobTimeout(); timeout > 0 {
		item.Options = append(item.Options, chime.Timeout(timeout))
	}
	return append(options, chime.OnDeath(item)), nil
}

// follow is the error action as it is stored, with the retry policy that it has.
func (a *Action) follow() *Action {
	follow := *a.ErrorAction
	if follow.RetryPolicy == nil {
		follow.RetryPolicy = a.RetryPolicy
	}
	return &follow
}

// payload returns the handler's name and the job's arguments.
func (a *Action) payload() (name string, args any, err error) {
	if a.Type == Job && a.Job != nil {
		return a.Job.Name, a.Job.args(), nil
	}
	alone := *a
	alone.ErrorAction = nil
	data, err := Encode(&alone)
	return JobName, data, err
}
