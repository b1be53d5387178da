//go:build unix && !linux

package redistest

import "syscall"

// endWithParent: these systems cannot tie a child's life to its parent's.
func endWithParent() *syscall.SysProcAttr { return nil }
