package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/chimejobs/chime/dashboard/internal/change"
	"github.com/chimejobs/chime/dashboard/internal/guard"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A route serves a path for one method.
type route struct {
	method string // GET (which is HEAD too) or POST
	path   string // relative to where the dashboard is mounted; {name} is one segment
	right  Rights // the right that a viewer needs
	body   int64  // the maximum size of a form, in bytes
	serve  func(*call)
}

// one returns the action of a path that has only one.
func one(act string, right Rights, do change.Verb) map[string]action {
	return map[string]action{"": {act: act, right: right, do: do}}
}

// forms are all routes that change something, with the right that each action needs.
var forms = []formRoute{
	{"schedules/bulk", guard.MaxBody, map[string]action{
		"pause":   {act: "pause schedules", right: Operate, do: change.PauseSchedules},
		"resume":  {act: "resume schedules", right: Operate, do: change.ResumeSchedules},
		"trigger": {act: "trigger schedules", right: Operate, do: change.TriggerSchedules},
		"delete":  {act: "delete schedules", right: Delete, do: change.DeleteSchedules},
	}},
	{"schedules/new", guard.MaxDefinition, one(actPut, Edit, change.PutSchedule)},
	{"schedules/{name}/edit", guard.MaxDefinition, one(actPut, Edit, change.PutSchedule)},
	{"preview", guard.MaxDefinition, one(actPreview, Edit, change.PreviewSchedule)},
	{"schedules/{name}/pause", guard.MaxBody, one("pause schedule", Operate, change.PauseSchedule)},
	{"schedules/{name}/resume", guard.MaxBody, one("resume schedule", Operate, change.ResumeSchedule)},
	{"schedules/{name}/acknowledge", guard.MaxBody, one("acknowledge schedule", Operate, change.AcknowledgeSchedule)},
	{"schedules/{name}/unacknowledge", guard.MaxBody, one("unacknowledge schedule", Operate, change.UnacknowledgeSchedule)},
	{"schedules/{name}/trigger", guard.MaxDefinition, map[string]action{"": {act: "trigger schedule", right: Operate, do: change.TriggerSchedule, args: Edit}}},
	{"schedules/{name}/backfill", guard.MaxBody, one("backfill schedule", Operate, change.BackfillSchedule)},
	{"schedules/{name}/delete", guard.MaxBody, one("delete schedule", Delete, change.DeleteSchedule)},
	{"queues/{queue}/pause", guard.MaxBody, one("pause queue", Operate, change.PauseQueue)},
	{"queues/{queue}/resume", guard.MaxBody, one("resume queue", Operate, change.ResumeQueue)},
	{"queues/{queue}/limit", guard.MaxBody, one("limit queue", Edit, change.LimitQueue)},
	{"queues/{queue}/groups/{group}/pause", guard.MaxBody, one("pause group", Operate, change.PauseGroup)},
	{"queues/{queue}/groups/{group}/resume", guard.MaxBody, one("resume group", Operate, change.ResumeGroup)},
	{"queues/{queue}/rule", guard.MaxBody, one("limit groups", Edit, change.LimitGroups)},
	{"queues/{queue}/groups/{group}/limit", guard.MaxBody, one("limit group", Edit, change.LimitGroup)},
	{"queues/{queue}/groups/{group}/reset", guard.MaxBody, one("reset group", Edit, change.ResetGroup)},
	{"queues/{queue}/groups/{group}/purge", guard.MaxBody, one("purge group", Delete, change.PurgeGroup)},
	{"queues/{queue}/purge", guard.MaxBody, one("purge queue", Delete, change.PurgeQueue)},
	{"queues/{queue}/delete", guard.MaxBody, one("delete queue", Delete, change.DeleteQueue)},
	{"jobs/bulk", guard.MaxBody, map[string]action{
		"requeue": {act: "requeue jobs", right: Operate, do: change.RequeueJobs},
		"cancel":  {act: "cancel jobs", right: Operate, do: change.CancelJobs},
		"delete":  {act: "delete jobs", right: Delete, do: change.DeleteJobs},
	}},
	{"jobs/{queue}/{id}/requeue", guard.MaxBody, one("requeue job", Operate, change.RequeueJob)},
	{"jobs/{queue}/{id}/cancel", guard.MaxBody, one("cancel job", Operate, change.CancelJob)},
	{"jobs/{queue}/{id}/delete", guard.MaxBody, one("delete job", Delete, change.DeleteJob)},
	{"batches/{id}/seal", guard.MaxBody, one("seal batch", Operate, change.SealBatch)},
	{"batches/{id}/recount", guard.MaxBody, one("recount batch", Operate, change.RecountBatch)},
	{"batches/{id}/cancel", guard.MaxBody, one("cancel batch", Operate, change.CancelBatch)},
	{"batches/{id}/delete", guard.MaxBody, one("delete batch", Delete, change.DeleteBatch)},
	{"failures/bulk", guard.MaxBody, map[string]action{
		"requeue": {act: "requeue failed jobs", right: Operate, do: change.RequeueGroups},
		"delete":  {act: "delete failed jobs", right: Delete, do: change.DeleteGroups},

		"acknowledge":   {act: "acknowledge failures", right: Operate, do: change.AcknowledgeGroups},
		"unacknowledge": {act: "unacknowledge failures", right: Operate, do: change.UnacknowledgeGroups},
	}},
}

// allRoutes returns all routes: those of the pages and the others.
func (d *Dashboard) allRoutes() []route {
	routes := []route{
		{http.MethodGet, "events", View, 0, (*call).events},
		{http.MethodGet, "search", View, 0, (*call).search},
		{http.MethodPost, "failures/{job}/reveal", Reveal, guard.MaxBody, (*call).revealCommon},
		{http.MethodPost, "jobs/{queue}/{id}/reveal", Reveal, guard.MaxBody, (*call).reveal},
	}
	for _, form := range forms {
		routes = append(routes, route{http.MethodPost, form.path, form.right(), form.body, d.send(form)})
	}
	for _, path := range slices.Sorted(maps.Keys(d.pages)) {
		routes = append(routes, route{http.MethodGet, path, d.pages[path].right, 0, d.show(d.pages[path])})
	}
	return routes
}

// find returns the route of a request, the values of its names, and the methods of the path. A path that a route has literally is never a value of
// another route's name: such a value is escaped, see render.Segment.
func find(routes []route, method, escapedPath string) (found *route, values map[string]string, methods []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	literal := slices.ContainsFunc(routes, func(r route) bool { return r.path == escapedPath })
	segments := strings.Split(escapedPath, "/")
	for i := range routes {
		matched, ok := match(strings.Split(routes[i].path, "/"), segments)
		if !ok || literal && len(matched) > 0 {
			continue
		}
		methods = append(methods, routes[i].method)
		if routes[i].method == method {
			found, values = &routes[i], matched
		}
	}
	return found, values, methods
}

// match compares a path's segments with a pattern's.
func match(pattern, segments []string) (values map[string]string, ok bool) {
	if len(pattern) != len(segments) {
		return nil, false
	}
	values = map[string]string{}
	for i, part := range pattern {
		if !strings.HasPrefix(part, "{") {
			if part != segments[i] {
				return nil, false
			}
			continue
		}
		value, ok := render.Unsegment(segments[i])
		if !ok {
			return nil, false
		}
		values[strings.Trim(part, "{}")] = value
	}
	return values, true
}
