package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
)

// maxNamespaces is the maximum number of namespaces that a line lists.
const maxNamespaces = 20

// noteNothing is noteEmpty for a list of what a store holds. If the namespace has no queue, it also lists the namespaces that have one.
func (s *session) noteNothing(ctx context.Context, text string) {
	s.noteEmpty(text)
	if output.Format(s.format) != output.Table {
		return
	}
	if others := s.otherNamespaces(ctx); others != "" {
		s.noteEmpty(others)
	}
}

// otherNamespaces returns a line about the namespaces of the server, if the chosen one has no queue. The line is empty if the chosen one has queues,
// if the server has no namespaces, or if they cannot be read, for example because the user lacks the right to scan.
func (s *session) otherNamespaces(ctx context.Context) string {
	store, err := s.store()
	if err != nil {
		return ""
	}
	limited, cancel := s.limited(ctx)
	defer cancel()
	if queues, err := chime.NewQueues(store).List(limited); err != nil || len(queues) > 0 {
		return ""
	}
	found, all, err := s.opened.Namespaces(ctx)
	if err != nil || len(found) == 0 {
		return ""
	}
	all = all && len(found) <= maxNamespaces
	names := strings.Join(found[:min(len(found), maxNamespaces)], ", ")
	if !all {
		names += ", and perhaps others"
	}
	return fmt.Sprintf("namespace %q holds nothing; this database has %s: choose one with --namespace", s.connect.Namespace, names)
}
