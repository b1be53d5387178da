//go:build unix && !linux

package redistest

import "syscall"

// endWithParent does nothing: these systems cannot end a child together with its parent.
func endWithParent() *syscall.SysProcAttr { return nil }
