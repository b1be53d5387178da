package login

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A PrivateFile is a file that only the user of this process can read.
type PrivateFile struct {
	Path string
	text string
}

// WriteToken writes the token to a file for scripts, for a program that listens on an address. No two programs listen on one address, so each has a
// file of its own, and replaces the file that a crash has left.
func (l *Local) WriteToken(env func(name string) string, program string, at net.Addr) (*PrivateFile, error) {
	return writePrivate(env, fileName(program, at)+".token", l.token+"\n")
}

// fileName returns the name of a file of a program that listens on an address.
func fileName(program string, at net.Addr) string {
	return program + "-" + strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c == '.':
			return c
		case c == ':':
			return '-'
		}
		return '_'
	}, at.String())
}

// writePrivate writes a file in the first folder that can have private files.
func writePrivate(env func(name string) string, name, text string) (*PrivateFile, error) {
	var bad []error
	for _, folder := range privateFolders(env) {
		if folder.err == nil {
			folder.err = isPrivate(folder.path)
		}
		file := &PrivateFile{Path: filepath.Join(folder.path, name), text: text}
		if folder.err == nil {
			folder.err = file.write()
		}
		if folder.err == nil {
			return file, nil
		}
		bad = append(bad, fmt.Errorf("%s: %w", folder.from, folder.err))
	}
	return nil, fmt.Errorf("there is no folder for a file with the token, which nobody else may read: set XDG_RUNTIME_DIR, or with systemd RuntimeDirectory=; or set %s, or use a file of tokens: %w",
		LocalVariable, errors.Join(bad...))
}

// A privateFolder is a folder that may have private files.
type privateFolder struct {
	from, path string
	err        error // why it does not exist
}

// privateFolders returns the folders to try, in this order: those of systemd and of the user's session, which disappear with them, and then the
// user's cache. Only the last one is created.
func privateFolders(env func(name string) string) (folders []privateFolder) {
	for _, name := range []string{"RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"} {
		if all := filepath.SplitList(env(name)); len(all) > 0 { // systemd may have created several
			folders = append(folders, privateFolder{from: name, path: all[0]})
		}
	}
	cache := privateFolder{from: "the cache of this user"}
	if cache.path, cache.err = os.UserCacheDir(); cache.err == nil {
		cache.path = filepath.Join(cache.path, "chime")
		cache.err = os.MkdirAll(cache.path, 0o700)
	}
	return append(folders, cache)
}

// isPrivate returns an error if other users can replace the files of a folder.
func isPrivate(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	const others = 0o022
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&others != 0 { // on Windows the folder of a user has rights of another form
		return fmt.Errorf("other users can write to %s: its mode is %#o, want at most 0755", folder, mode)
	}
	return nil
}

// write creates the file, or replaces the file of this name, so that a reader gets the whole text of one of them. It follows no link.
func (f *PrivateFile) write() error {
	next := f.Path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(f.text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(next, f.Path)
	}
	if err != nil {
		_ = os.Remove(next) // the error of the write is the one that matters
	}
	return err
}

// Remove removes the file, unless another process has replaced it. A nil file is not removed.
func (f *PrivateFile) Remove() {
	if f == nil {
		return
	}
	if text, err := os.ReadFile(f.Path); err == nil && string(text) == f.text {
		_ = os.Remove(f.Path) // the token in it is no longer valid
	}
}
