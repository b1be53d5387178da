package main

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel end a child when this process dies.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
