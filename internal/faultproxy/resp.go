package faultproxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// A Command is a Redis command: its name and its arguments.
type Command [][]byte

// Name returns the command's name as the client wrote it.
func (c Command) Name() string {
	if len(c) == 0 {
		return ""
	}
	return string(c[0])
}

// readBatch reads commands until nothing more is buffered. It returns their bytes, unchanged, and the commands.
func readBatch(in *bufio.Reader) ([]byte, []Command, error) {
	var raw bytes.Buffer
	var commands []Command
	for {
		c, err := readCommand(in, &raw)
		if err != nil {
			return nil, nil, err
		}
		if len(c) > 0 {
			commands = append(commands, c)
		}
		if len(commands) > 0 && in.Buffered() == 0 {
			return raw.Bytes(), commands, nil
		}
	}
}

func readCommand(in *bufio.Reader, raw *bytes.Buffer) (Command, error) {
	line, err := readLine(in, raw)
	if err != nil {
		return nil, err
	}
	if len(line) == 0 || line[0] != '*' {
		return bytes.Fields(bytes.Clone(line)), nil // an inline command, as typed in a telnet session
	}
	n, err := strconv.Atoi(string(line[1:]))
	if err != nil {
		return nil, fmt.Errorf("faultproxy: a command begins with %q, want * and a number", line)
	}
	c := make(Command, 0, max(n, 0))
	for range n {
		if line, err = readLine(in, raw); err != nil {
			return nil, err
		}
		if len(line) == 0 || line[0] != '$' {
			return nil, fmt.Errorf("faultproxy: an argument begins with %q, want $", line)
		}
		part, err := readBytes(in, raw, line[1:])
		if err != nil {
			return nil, err
		}
		c = append(c, part)
	}
	return c, nil
}

// readReply reads one reply or push message of RESP2 or RESP3, and returns its bytes.
func readReply(in *bufio.Reader) ([]byte, error) {
	var raw bytes.Buffer
	// left is the number of values still to read. An aggregate adds its elements.
	for left := 1; left > 0; left-- {
		line, err := readLine(in, &raw)
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			return nil, fmt.Errorf("faultproxy: an empty line, want a reply")
		}
		switch line[0] {
		case '+', '-', ':', '_', '#', ',', '(':
		case '$', '=', '!':
			if _, err := readBytes(in, &raw, line[1:]); err != nil {
				return nil, err
			}
		case '*', '~', '>', '%', '|':
			n, err := strconv.Atoi(string(line[1:]))
			if err != nil {
				return nil, fmt.Errorf("faultproxy: unknown reply %q", line)
			}
			switch line[0] {
			case '%':
				n *= 2
			case '|': // attributes precede the value to which they belong
				n = 2*n + 1
			}
			left += max(n, 0)
		default:
			return nil, fmt.Errorf("faultproxy: unknown reply %q", line)
		}
	}
	return raw.Bytes(), nil
}

// readLine reads a line into raw and returns it without its line end.
func readLine(in *bufio.Reader, raw *bytes.Buffer) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	raw.Write(line)
	return bytes.TrimRight(line, "\r\n"), nil
}

// readBytes reads a string of the given length and its line end into raw. A negative length means null, which has neither.
func readBytes(in *bufio.Reader, raw *bytes.Buffer, length []byte) ([]byte, error) {
	n, err := strconv.Atoi(string(length))
	if err != nil {
		return nil, fmt.Errorf("faultproxy: bad string length %q", length)
	}
	if n < 0 {
		return nil, nil
	}
	part := make([]byte, n+2)
	if _, err := io.ReadFull(in, part); err != nil {
		return nil, err
	}
	raw.Write(part)
	return part[:n:n], nil
}
