package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
)

// readSecretFile reads a file with keys, tokens or passwords. The error of a file to which other users have access does not contain its name.
func readSecretFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	const others = 0o007 // a group may have access: Kubernetes and compose cannot give it to one user only
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&others != 0 {
		return nil, fmt.Errorf("every user of this machine has access to the file: its mode is %#o; run chmod o= for it, or in Kubernetes set defaultMode: 0440", mode)
	}
	return io.ReadAll(file)
}
