package dashboard

import (
	"net/http"
	"strings"

	"github.com/chimejobs/chime/internal/loopback"
)

// Rights are the rights of a viewer. No right includes another one: an operator has View|Operate.
type Rights uint8

// The rights.
const (
	View    Rights = 1 << iota // see every page, without payloads and results
	Operate                    // pause, resume, trigger and backfill schedules; requeue and cancel jobs; pause and resume queues
	Edit                       // create and change schedules, set the limit of a queue
	Delete                     // delete schedules and jobs, purge queues
	Reveal                     // see the arguments and the result of a job; each request is audited

	allRights = View | Operate | Edit | Delete | Reveal
	writing   = Operate | Edit | Delete
)

// String returns the names of the rights, such as "view, operate".
func (r Rights) String() string {
	var names []string
	for i, name := range []string{"view", "operate", "edit", "delete", "reveal"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// A Viewer is a person who sends a request.
type Viewer struct {
	// Name is shown on every page and logged, and it is stored when the viewer pauses something. All requests without a name from the same address
	// count as one viewer.
	Name string
	// Rights are the viewer's rights. Without View they see nothing.
	Rights Rights
}

// Loopback is an Authorize for a first try on a machine that only you use: it gives every right to requests that seem to come from this machine, and
// refuses all others. A request seems to come from this machine if it comes from a loopback address, its host is localhost, 127.0.0.1, [::1] or another
// loopback address, it has no header that a proxy adds, and no job has sent it.
//
// This is a guess. Every proxy and every port-forward on this machine counts as this machine, and with it all of its clients: nginx and HAProxy with
// their defaults, ssh -L, kubectl port-forward. So does every user and every container that shares the network of this machine.
func Loopback(r *http.Request) (Viewer, error) {
	viewer, err := bareLoopback(r)
	if err == nil {
		viewer.Rights = allRights
	}
	return viewer, err
}

// bareLoopback is the Authorize of a dashboard that has none. It gives only the right to see the pages.
func bareLoopback(r *http.Request) (Viewer, error) {
	if why := loopback.Elsewhere(r); why != "" {
		return Viewer{}, elsewhereError(why)
	}
	return Viewer{Name: "this machine", Rights: View}, nil
}

// An elsewhereError is the reason why a request does not seem to come from this machine.
type elsewhereError string

func (e elsewhereError) Error() string {
	return "this dashboard serves only its own machine, and " + string(e)
}
