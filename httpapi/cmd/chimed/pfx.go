package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/action/pfx"
)

const (
	pfxCommand = "open-pfx" // of the child process; not for users
	pfxTimeout = 2 * time.Second
	pfxAtOnce  = 2
)

// The input and the output of the child that opens a PKCS #12 file.
type (
	pfxRequest struct {
		File     []byte
		Password string
	}
	pfxAnswer struct {
		Certificate, Key []byte
		Error            string
	}
)

// newPFXOpener opens PKCS #12 files in a child process of this program, which is killed after the timeout: the creator of a file decides how many rounds of
// hashing it needs. Two are open at the same time; the others wait. The child has no environment, so its only secrets are the file and its password.
func newPFXOpener(program string, timeout time.Duration) action.OpenPFX {
	slots := make(chan struct{}, pfxAtOnce)
	return func(ctx context.Context, file []byte, password string) (certificate, key []byte, err error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		input, err := json.Marshal(pfxRequest{File: file, Password: password})
		if err != nil {
			return nil, nil, err
		}
		within, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		child := exec.CommandContext(within, program, pfxCommand)
		child.Env = []string{"GOMAXPROCS=1"}
		child.Stdin = bytes.NewReader(input)
		child.WaitDelay = time.Second
		output, err := child.Output()
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case within.Err() != nil:
			return nil, nil, fmt.Errorf("opening it takes longer than %v", timeout)
		case err != nil:
			return nil, nil, errors.New("the process that opens it has failed")
		}
		var answer pfxAnswer
		if err := json.Unmarshal(output, &answer); err != nil {
			return nil, nil, errors.New("the process that opens it has sent an invalid answer")
		}
		if answer.Error != "" {
			return nil, nil, errors.New(answer.Error)
		}
		return answer.Certificate, answer.Key, nil
	}
}

// thisProgram is the path of the running executable, which remains valid if an update replaces the file.
func thisProgram() (string, error) {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running, nil
	}
	return os.Executable()
}

// openPFX is the command of the child.
func (p process) openPFX(ctx context.Context) error {
	var request pfxRequest
	if err := json.NewDecoder(p.in).Decode(&request); err != nil {
		return fmt.Errorf("%s: %w", pfxCommand, err)
	}
	var answer pfxAnswer
	var err error
	answer.Certificate, answer.Key, err = pfx.Open(ctx, request.File, request.Password)
	if err != nil {
		answer.Error = err.Error()
	}
	return json.NewEncoder(p.out).Encode(answer)
}
