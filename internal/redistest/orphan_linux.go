package redistest

import "syscall"

// endWithParent makes the kernel kill the child if the test process ends without cleanup, after a timeout or a panic.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
