package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// A route is one method of one path. The table of routes is complete: the mux, Allow, GET / and the tests are built from it.
type route struct {
	method string
	path   string     // below the mount point; {collection}, {job}, {task} and {batch} are names
	needs  Permission // 0: any principal
	open   bool       // to everybody, without authentication
	body   bool       // it has a JSON body
	large  bool       // its body may be four times as long, because it has several resources
	op     string     // its name in the log; empty: it changes nothing
	serve  func(ctx context.Context, c *call) (*answer, error)
}

const (
	collectionPath = "/jobCollections/{collection}"
	jobPath        = collectionPath + "/jobs/{job}"
	tasksPath      = collectionPath + "/tasks"
	taskPath       = tasksPath + "/{task}"
	batchesPath    = collectionPath + "/batches"
	batchPath      = batchesPath + "/{batch}"
)

// armPrefix is the second place of the routes of collections: Azure's resource manager had them there.
const armPrefix = "/subscriptions/{s}/resourceGroups/{g}/providers/Microsoft.Scheduler"

// routes returns the table.
func routes() []route {
	return []route{
		{method: "GET", path: "/{$}", serve: getHome},
		{method: "GET", path: "/openapi.json", open: true, serve: getDocumentJSON},
		{method: "GET", path: "/openapi.yaml", open: true, serve: getDocumentYAML},

		{method: "GET", path: "/jobCollections", serve: listCollections},
		{method: "GET", path: collectionPath, needs: Read, serve: getCollection},
		{method: "PUT", path: collectionPath, needs: Admin, body: true, op: "put collection", serve: putCollection},
		{method: "PATCH", path: collectionPath, needs: Admin, body: true, op: "patch collection", serve: patchCollection},
		{method: "DELETE", path: collectionPath, needs: Admin, op: "delete collection", serve: deleteCollection},
		{method: "POST", path: collectionPath + "/enable", needs: Run, op: "enable collection", serve: enableCollection},
		{method: "POST", path: collectionPath + "/disable", needs: Run, op: "disable collection", serve: disableCollection},

		{method: "GET", path: collectionPath + "/jobs", needs: Read, serve: listJobs},
		{method: "POST", path: collectionPath + "/jobs", needs: Write, body: true, op: "post job", serve: postJob},
		{method: "GET", path: jobPath, needs: Read, serve: getJob},
		{method: "PUT", path: jobPath, needs: Write, body: true, op: "put job", serve: putJob},
		{method: "PATCH", path: jobPath, needs: Write, body: true, op: "patch job", serve: patchJob},
		{method: "DELETE", path: jobPath, needs: Write, op: "delete job", serve: deleteJob},
		{method: "POST", path: jobPath + "/run", needs: Run, op: "run job", serve: runJob},
		{method: "POST", path: jobPath + "/acknowledge", needs: Run, body: true, op: "acknowledge job", serve: acknowledgeJob},
		{method: "DELETE", path: jobPath + "/acknowledge", needs: Run, op: "end acknowledgement", serve: endAcknowledgement},
		{method: "GET", path: collectionPath + "/acknowledgements", needs: Read, serve: listAcknowledgements},
		{method: "GET", path: jobPath + "/history", needs: Read, serve: getHistory},
		{method: "GET", path: jobPath + "/next", needs: Read, serve: getNext},

		{method: "GET", path: tasksPath, needs: Read, serve: listTasks},
		{method: "POST", path: tasksPath, needs: Write, body: true, large: true, op: "post tasks", serve: postTasks},
		{method: "GET", path: taskPath, needs: Read, serve: getTask},
		{method: "DELETE", path: taskPath, needs: Write, op: "delete task", serve: deleteTask},

		{method: "GET", path: batchesPath, needs: Read, serve: listBatches},
		{method: "POST", path: batchesPath, needs: Write, body: true, large: true, op: "post batch", serve: postBatch},
		{method: "GET", path: batchPath, needs: Read, serve: getBatch},
		{method: "DELETE", path: batchPath, needs: Write, op: "delete batch", serve: deleteBatch},
		{method: "POST", path: batchPath + "/cancel", needs: Write, op: "cancel batch", serve: cancelBatch},

		{method: "POST", path: "/preview", body: true, serve: preview},
	}
}

// arm reports whether the route is below armPrefix too.
func (r *route) arm() bool { return !r.open && r.path != "/{$}" }

// An endpoint is the routes of a path by their methods. If it is empty, the API does not have the path.
type endpoint map[string]*route

// allow lists the endpoint's methods for the header Allow.
func (e endpoint) allow() string {
	methods := make([]string, 0, len(e)+1)
	for method := range e {
		methods = append(methods, method)
	}
	if _, ok := e[http.MethodGet]; ok {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// find returns the route of a method; HEAD uses the route of GET.
func (e endpoint) find(method string) *route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return e[method]
}

// newMux builds the mux from the table. It finds paths; the method is checked after the request is authenticated.
func (a *API) newMux() *http.ServeMux {
	paths := map[string]endpoint{"/": nil}
	add := func(path string, r *route) {
		if paths[path] == nil {
			paths[path] = endpoint{}
		}
		paths[path][r.method] = r
	}
	for _, r := range routes() {
		add(r.path, &r)
		if r.arm() {
			add(armPrefix+r.path, &r)
		}
	}
	mux := http.NewServeMux()
	for path, e := range paths {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, e) })
	}
	return mux
}
