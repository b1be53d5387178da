package chimeotel

import "go.opentelemetry.io/otel/attribute"

// The names of the semantic conventions, version 1.43. The messaging names are "in development": a later version may have others, and
// then only this file changes. A test compares them with the package of that version.
const (
	schemaURL = "https://opentelemetry.io/schemas/1.43.0"

	keySystem        = attribute.Key("messaging.system")
	keyOperationName = attribute.Key("messaging.operation.name")
	keyOperationType = attribute.Key("messaging.operation.type")
	keyDestination   = attribute.Key("messaging.destination.name")
	keyPartition     = attribute.Key("messaging.destination.partition.id")
	keyMessageID     = attribute.Key("messaging.message.id")
	keyBodySize      = attribute.Key("messaging.message.body.size")
	keyBatchCount    = attribute.Key("messaging.batch.message_count")
	keyClientID      = attribute.Key("messaging.client.id")
	keyErrorType     = attribute.Key("error.type")

	keyExceptionType    = attribute.Key("exception.type")
	keyExceptionMessage = attribute.Key("exception.message")
	keyExceptionStack   = attribute.Key("exception.stacktrace")

	system        = "chime"
	operationSend = "send"    // the type of enqueuing
	processing    = "process" // the name and the type of an attempt

	eventException = "exception"

	metricSent     = "messaging.client.sent.messages"
	metricConsumed = "messaging.client.consumed.messages"
	metricDuration = "messaging.process.duration"
)

// The names of chime.
const (
	keyJobName     = attribute.Key("chime.job.name")
	keyAttempt     = attribute.Key("chime.job.attempt")
	keyMaxAttempts = attribute.Key("chime.job.max_attempts")
	keyCrashes     = attribute.Key("chime.job.crashes")
	keyOutcome     = attribute.Key("chime.job.outcome")
	keyFence       = attribute.Key("chime.job.fence")

	keySchedule = attribute.Key("chime.schedule.name")
	keyPlanned  = attribute.Key("chime.schedule.planned")    // RFC 3339
	keyLateness = attribute.Key("chime.schedule.lateness_s") // seconds
	keyTrigger  = attribute.Key("chime.schedule.trigger")    // the origin of the job: occurrence, manual, backfill, done or death

	enqueuing = "enqueue"
	placing   = "place"
	managing  = "manage"

	backfilled = "backfill" // the origin of the job, in chime's word

	eventSessionLost   = "chime.session.lost"
	eventSettleRefused = "chime.settle.refused"
)
