package redistest

import "syscall"

// endWithParent has the kernel kill the child when the test dies without cleaning up, by a timeout or a panic.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
