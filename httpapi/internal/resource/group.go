package resource

import (
	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/internal/protocol"
)

// group reads a key of a group, see [chime.Group]; empty: not given.
func group(in *body.ObjectReader) string {
	key := in.Text("group")
	if key != "" && protocol.CheckID("group", key) != nil {
		in.Wrong("group", "group_value", "want 1 to 200 bytes without control or format characters, without space at either end, and not ending like the ID of an occurrence")
	}
	return key
}
