package resource

import (
	"fmt"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// readAction reads an action; only a main action may have an error action.
func readAction(in *body.ObjectReader, main bool) *action.Action {
	a := &action.Action{Type: word(in.Text("type"), action.HTTP, action.HTTPS, action.Job, action.StorageQueue, action.ServiceBusQueue, action.ServiceBusTopic)}
	if request := in.Object("request"); request.There() {
		a.Request = readRequest(request)
		a.RetryPolicy = readRetryPolicy(request.Object("retryPolicy"))
		request.Done()
	}
	if job := in.Object("job"); job.There() {
		a.Job = readJobTarget(job)
	}
	if message := in.Object("queueMessage"); message.There() {
		a.QueueMessage = &action.QueueMessage{
			StorageAccount: message.Text("storageAccount"), QueueName: message.Text("queueName"), Message: message.Text("message"), SASToken: secret(message, "sasToken"),
		}
		message.Done()
	}
	a.BusQueueMessage = readBusMessage(in.Object("serviceBusQueueMessage"), "queueName")
	a.BusTopicMessage = readBusMessage(in.Object("serviceBusTopicMessage"), "topicPath")
	if policy := readRetryPolicy(in.Object("retryPolicy")); policy != nil {
		if a.RetryPolicy != nil {
			in.Reader.Add(in.Value.Get("retryPolicy"), problem.Mistake{Code: "conflict", Field: in.Path("retryPolicy"), Detail: "request has a retryPolicy too: give only one of them"})
		}
		a.RetryPolicy = policy
	}
	if !main {
		in.Done()
		return a
	}
	if follows := in.Object("errorAction"); follows.There() {
		a.ErrorAction = readAction(follows, false)
	}
	in.Done()
	return a
}

func readRequest(in *body.ObjectReader) *action.Request {
	r := &action.Request{URI: in.Text("uri"), Method: in.Text("method"), Body: in.Text("body"), Headers: in.NamedTexts("headers")}
	r.SecretHeaders, r.SecretQuery = namedSecrets(in, "secretHeaders"), namedSecrets(in, "secretQuery")
	if auth := in.Object("authentication"); auth.There() {
		r.Authentication = readAuthentication(auth)
	}
	if signing := in.Object("signing"); signing.There() {
		r.Signing = &action.Signing{Secret: secret(signing, "secret"), PreviousSecret: secret(signing, "previousSecret")}
		signing.Done()
	}
	r.Timeout = interval(in, "timeout", "timeout_range")
	r.SuccessCodes = in.Texts("successCodes")
	r.Redirects, _ = in.Whole("redirects", 0, 5, "redirects_range")
	return r
}

func readAuthentication(in *body.ObjectReader) *action.Authentication {
	a := &action.Authentication{
		Type:     word(in.Text("type"), action.NotSpecified, action.Basic, action.ClientCertificate, action.ActiveDirectoryOAuth, action.OAuth, action.Bearer),
		Username: in.Text("username"), Certificate: in.Text("certificate"),
		Tenant: in.Text("tenant"), Audience: in.Text("audience"), ClientID: in.Text("clientId"),
		TokenURL: in.Text("tokenUrl"), Scopes: in.Texts("scopes"), Style: word(in.Text("style"), action.StyleHeader, action.StyleBody),
		Password: secret(in, "password"), PFX: secret(in, "pfx"), Key: secret(in, "key"), Secret: secret(in, "secret"),
		ClientSecret: secret(in, "clientSecret"), Token: secret(in, "token"),
	}
	if !a.PFX.IsZero() && a.Key.Stored() { // a patch with a pfx, which replaces the stored certificate and key
		a.Certificate, a.Key = "", action.Secret{}
	}
	in.Ignore("certificateThumbprint", "certificateSubjectName", "certificateExpirationDate")
	in.Done()
	return a
}

func readJobTarget(in *body.ObjectReader) *action.JobTarget {
	j := &action.JobTarget{Name: in.Text("name"), Queue: in.Text("queue"), Body: in.Text("body")}
	if payload := in.Field("payload"); payload != nil {
		j.Payload = payload.Append(nil)
	}
	in.Done()
	return j
}

func readBusMessage(in *body.ObjectReader, to string) *action.BusMessage {
	if !in.There() {
		return nil
	}
	m := &action.BusMessage{
		Namespace: in.Text("namespace"), Message: in.Text("message"), Custom: in.NamedTexts("customMessageProperties"),
		TransportType: word(in.Text("transportType"), "NotSpecified", "NetMessaging", "AMQP"),
	}
	if to == "queueName" {
		m.QueueName = in.Text(to)
	} else {
		m.TopicPath = in.Text(to)
	}
	if auth := in.Object("authentication"); auth.There() {
		m.Authentication = &action.BusAuthentication{
			Type: word(auth.Text("type"), "NotSpecified", "SharedAccessKey"), SASKeyName: auth.Text("sasKeyName"), SASKey: secret(auth, "sasKey"),
		}
		auth.Done()
	}
	if b := in.Object("brokeredMessageProperties"); b.There() {
		m.Brokered = &action.BusProperties{
			ContentType: b.Text("contentType"), CorrelationID: b.Text("correlationId"), ForcePersistence: b.Bool("forcePersistence", false),
			Label: b.Text("label"), MessageID: b.Text("messageId"), PartitionKey: b.Text("partitionKey"), ReplyTo: b.Text("replyTo"),
			ReplyToSessionID: b.Text("replyToSessionId"), ScheduledEnqueueTimeUTC: b.Text("scheduledEnqueueTimeUtc"), SessionID: b.Text("sessionId"),
			TimeToLive: interval(b, "timeToLive", "type"), To: b.Text("to"), ViaPartitionKey: b.Text("viaPartitionKey"),
		}
		b.Done()
	}
	in.Done()
	return m
}

func readRetryPolicy(in *body.ObjectReader) *action.RetryPolicy {
	if !in.There() {
		return nil
	}
	p := &action.RetryPolicy{
		Type:     word(in.Text("retryType"), action.RetryNone, action.RetryFixed, action.RetryExponential),
		Interval: interval(in, "retryInterval", "retry_interval"), Max: interval(in, "maxInterval", "retry_interval"),
	}
	if n, set := in.Whole("retryCount", 0, 100, "retry_count"); set {
		p.Count = &n
	}
	in.Done()
	return p
}

func interval(in *body.ObjectReader, key, code string) action.Interval {
	text := in.Text(key)
	if text == "" {
		return 0
	}
	i, err := action.ParseInterval(text)
	if err != nil {
		in.Wrong(key, code, err.Error())
	}
	return i
}

// secret reads a secret: a client's text, or a stored secret.
func secret(in *body.ObjectReader, key string) action.Secret {
	v := in.Field(key)
	if v == nil {
		return action.Secret{}
	}
	return readSecret(in.Reader, v, in.Path(key))
}

func readSecret(r *body.Reader, v *body.Value, path string) action.Secret {
	switch {
	case v.Kind == body.Null:
		return action.Secret{}
	case v.Kind == body.String:
		return action.Plain(v.Text)
	case v.Stored:
		var stored action.Secret
		if stored.UnmarshalJSON(v.Append(nil)) == nil {
			return stored
		}
	}
	r.Add(v, problem.Mistake{Code: "type", Field: path, Value: fmt.Sprint(action.Plain("secret")), Detail: "want a string"})
	return action.Secret{}
}

// namedSecrets reads an object of secrets with names from the client. A name with null has its stored secret already.
func namedSecrets(in *body.ObjectReader, key string) map[string]action.Secret {
	var all map[string]action.Secret
	in.Named(key, true, func(name string, v *body.Value, path string) {
		if all == nil {
			all = map[string]action.Secret{}
		}
		all[name] = readSecret(in.Reader, v, path)
	})
	return all
}
