package problem

import "net/http"

// A Code is a word for what is wrong. Those of package recurrence and package action are codes too, with status 400.
type Code string

// The codes that are not of a body's content.
const (
	Unauthenticated     Code = "unauthenticated"
	Forbidden           Code = "forbidden"
	TargetForbidden     Code = "target_forbidden"
	LoopbackOnly        Code = "loopback_only"
	NotFound            Code = "not_found"
	MethodNotAllowed    Code = "method_not_allowed"
	QuotaCollections    Code = "quota_collections"
	QuotaJobs           Code = "quota_jobs"
	QuotaRecurrence     Code = "quota_recurrence"
	QuotaOccurrences    Code = "quota_occurrences"
	QuotaAuthentication Code = "quota_authentication"
	NameTaken           Code = "name_taken"
	JobFinal            Code = "job_final"
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

// statuses are those of the codes that are not 400.
var statuses = map[Code]int{
	Unauthenticated:     http.StatusUnauthorized,
	Forbidden:           http.StatusForbidden,
	TargetForbidden:     http.StatusForbidden,
	LoopbackOnly:        http.StatusForbidden,
	NotFound:            http.StatusNotFound,
	MethodNotAllowed:    http.StatusMethodNotAllowed,
	QuotaCollections:    http.StatusConflict,
	QuotaJobs:           http.StatusConflict,
	QuotaRecurrence:     http.StatusConflict,
	QuotaOccurrences:    http.StatusConflict,
	QuotaAuthentication: http.StatusConflict,
	NameTaken:           http.StatusConflict,
	JobFinal:            http.StatusConflict,
	CollectionDisabled:  http.StatusConflict,
	CollectionDeleting:  http.StatusConflict,
	SecretKeysMissing:   http.StatusConflict,
	Busy:                http.StatusConflict,
	Changed:             http.StatusPreconditionFailed,
	Exists:              http.StatusPreconditionFailed,
	TooLarge:            http.StatusRequestEntityTooLarge,
	ContentType:         http.StatusUnsupportedMediaType,
	TooMany:             http.StatusTooManyRequests,
	Internal:            http.StatusInternalServerError,
	Misconfigured:       http.StatusInternalServerError,
	StoreUnavailable:    http.StatusServiceUnavailable,
	StoreFull:           http.StatusServiceUnavailable,
}

// Status is the status of the answers that have the code.
func (c Code) Status() int {
	if status, known := statuses[c]; known {
		return status
	}
	return http.StatusBadRequest
}
