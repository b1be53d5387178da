package problem

import "net/http"

// A kind is what a code means: the status of its answers, what it is in a few words, and Azure's word for it.
type kind struct {
	status int
	title  string
}

// kinds are the codes of requests. Those of a body's content, of packages recurrence and action too, are 400 and mean that.
var kinds = map[Code]kind{
	Unauthenticated:     {http.StatusUnauthorized, "The caller is not known"},
	Forbidden:           {http.StatusForbidden, "The caller may not do this"},
	TargetForbidden:     {http.StatusForbidden, "The collection does not allow this job"},
	LoopbackOnly:        {http.StatusForbidden, "Only this machine may send requests"},
	NotFound:            {http.StatusNotFound, "There is no such resource"},
	MethodNotAllowed:    {http.StatusMethodNotAllowed, "The path does not have this method"},
	QuotaCollections:    {http.StatusConflict, "There are as many collections as there may be"},
	QuotaJobs:           {http.StatusConflict, "The collection has as many jobs as it may have"},
	QuotaRecurrence:     {http.StatusConflict, "The job would run more often than the collection allows"},
	QuotaOccurrences:    {http.StatusConflict, "The job would run more times than the collection allows"},
	QuotaAuthentication: {http.StatusConflict, "The collection's sku allows no authentication"},
	NameTaken:           {http.StatusConflict, "A program's schedule has this name"},
	JobFinal:            {http.StatusConflict, "The job has ended"},
	CollectionDisabled:  {http.StatusConflict, "The collection is disabled"},
	CollectionDeleting:  {http.StatusConflict, "The collection is being deleted"},
	SecretKeysMissing:   {http.StatusConflict, "The server has no keys for secrets"},
	Busy:                {http.StatusConflict, "Others change it at the same time"},
	Changed:             {http.StatusPreconditionFailed, "It is not as the request expects"},
	Exists:              {http.StatusPreconditionFailed, "It exists"},
	TooLarge:            {http.StatusRequestEntityTooLarge, "The body is too large"},
	ContentType:         {http.StatusUnsupportedMediaType, "The body has no type that is read here"},
	TooMany:             {http.StatusTooManyRequests, "The caller sends too many requests"},
	Internal:            {http.StatusInternalServerError, "The server made a mistake"},
	Misconfigured:       {http.StatusInternalServerError, "The server has bad options"},
	StoreUnavailable:    {http.StatusServiceUnavailable, "Redis is not available"},
	StoreFull:           {http.StatusServiceUnavailable, "Redis is full"},
}

// azureWords are the codes of Azure's answers, which old clients look for.
var azureWords = map[int]string{
	http.StatusBadRequest:            "BadRequest",
	http.StatusUnauthorized:          "AuthenticationFailed",
	http.StatusForbidden:             "AuthorizationFailed",
	http.StatusNotFound:              "ResourceNotFound",
	http.StatusMethodNotAllowed:      "MethodNotAllowed",
	http.StatusConflict:              "ConflictError",
	http.StatusPreconditionFailed:    "PreconditionFailed",
	http.StatusRequestEntityTooLarge: "RequestBodyTooLarge",
	http.StatusUnsupportedMediaType:  "UnsupportedMediaType",
	http.StatusTooManyRequests:       "TooManyRequests",
	http.StatusInternalServerError:   "InternalError",
	http.StatusServiceUnavailable:    "ServerBusy",
}

// Status is the status of the answers that have the code.
func (c Code) Status() int {
	if k, known := kinds[c]; known {
		return k.status
	}
	return http.StatusBadRequest
}

// Title is what the code means in a few words.
func (c Code) Title() string {
	if k, known := kinds[c]; known {
		return k.title
	}
	return "The request is not valid"
}
