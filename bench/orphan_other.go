//go:build !linux

package main

import "os/exec"

// endWithParent: other systems cannot tie a child's life to its parent's.
func endWithParent(*exec.Cmd) {}
