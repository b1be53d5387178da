package problem

import "net/http"

// A kind is the meaning of a code: the status of its answers, and a title.
type kind struct {
	status int
	title  string
}

// kinds has the codes that are not about a body's content. All others, also those of packages recurrence and action, have status 400 and one title.
var kinds = map[Code]kind{
	Unauthenticated:     {http.StatusUnauthorized, "The caller is unknown"},
	Forbidden:           {http.StatusForbidden, "The caller may not do this"},
	TargetForbidden:     {http.StatusForbidden, "The collection does not allow this job"},
	GroupForbidden:      {http.StatusForbidden, "The collection does not allow this group"},
	LoopbackOnly:        {http.StatusForbidden, "Only this machine may send requests"},
	NotFound:            {http.StatusNotFound, "There is no such resource"},
	MethodNotAllowed:    {http.StatusMethodNotAllowed, "The path does not have this method"},
	QuotaCollections:    {http.StatusConflict, "The maximum number of collections is reached"},
	QuotaJobs:           {http.StatusConflict, "The collection has its maximum number of jobs"},
	QuotaRuns:           {http.StatusConflict, "Too many runs have not ended"},
	GroupFull:           {http.StatusConflict, "Too many jobs of the group wait"},
	QuotaRecurrence:     {http.StatusConflict, "The job would run more often than the collection allows"},
	QuotaOccurrences:    {http.StatusConflict, "The job would run more times than the collection allows"},
	QuotaAuthentication: {http.StatusConflict, "The collection's sku allows no authentication"},
	NameTaken:           {http.StatusConflict, "A program's schedule has this name"},
	JobNotFailing:       {http.StatusConflict, "The job is not failing"},
	BatchState:          {http.StatusConflict, "The batch is in another state"},
	JobFinal:            {http.StatusConflict, "The job has ended"},
	CollectionDisabled:  {http.StatusConflict, "The collection is disabled"},
	CollectionDeleting:  {http.StatusConflict, "The collection is being deleted"},
	SecretKeysMissing:   {http.StatusConflict, "The server has no keys for secrets"},
	Busy:                {http.StatusConflict, "Other requests change it at the same time"},
	Changed:             {http.StatusPreconditionFailed, "It is not in the state that the request expects"},
	Exists:              {http.StatusPreconditionFailed, "The resource already exists"},
	TooLarge:            {http.StatusRequestEntityTooLarge, "The body is too large"},
	ContentType:         {http.StatusUnsupportedMediaType, "The content type is not supported"},
	TooMany:             {http.StatusTooManyRequests, "The caller sends too many requests"},
	Internal:            {http.StatusInternalServerError, "Internal error of the server"},
	Misconfigured:       {http.StatusInternalServerError, "The server has invalid options"},
	StoreUnavailable:    {http.StatusServiceUnavailable, "Redis is not available"},
	StoreFull:           {http.StatusServiceUnavailable, "Redis is full"},
}

// azureWords are the codes of Azure's answers, which old clients check.
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

// Status is the status of answers with the code.
func (c Code) Status() int {
	if k, known := kinds[c]; known {
		return k.status
	}
	return http.StatusBadRequest
}

// Title is the meaning of the code in a few words.
func (c Code) Title() string {
	if k, known := kinds[c]; known {
		return k.title
	}
	return "The request is not valid"
}
