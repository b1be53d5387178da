package problem

// A Code identifies an error. The codes of package recurrence and package action are codes too, with status 400.
type Code string

// The codes that are not about a body's content.
const (
	Unauthenticated     Code = "unauthenticated"
	Forbidden           Code = "forbidden"
	TargetForbidden     Code = "target_forbidden"
	GroupForbidden      Code = "group_forbidden"
	LoopbackOnly        Code = "loopback_only"
	NotFound            Code = "not_found"
	MethodNotAllowed    Code = "method_not_allowed"
	QuotaCollections    Code = "quota_collections"
	QuotaJobs           Code = "quota_jobs"
	QuotaRuns           Code = "quota_runs"
	GroupFull           Code = "group_full"
	QuotaRecurrence     Code = "quota_recurrence"
	QuotaOccurrences    Code = "quota_occurrences"
	QuotaAuthentication Code = "quota_authentication"
	NameTaken           Code = "name_taken"
	JobFinal            Code = "job_final"
	JobNotFailing       Code = "job_not_failing"
	BatchState          Code = "batch_state"
	CollectionDisabled  Code = "collection_disabled"
	CollectionDeleting  Code = "collection_deleting"
	SecretKeysMissing   Code = "secret_keys_missing"
	Busy                Code = "busy"
	Changed             Code = "changed"
	Exists              Code = "exists"
	TooLarge            Code = "too_large"
	ContentType         Code = "content_type"
	TooMany             Code = "too_many"
	Internal            Code = "internal"
	Misconfigured       Code = "misconfigured"
	StoreUnavailable    Code = "store_unavailable"
	StoreFull           Code = "store_full"
)
