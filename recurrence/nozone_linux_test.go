package recurrence

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWithoutZoneDataTheErrorSaysWhatToInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program") // go test -short only
	}
	root := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(root, "nozone"), "./testdata/nozone")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	// A root directory with the program alone: no /usr/share/zoneinfo, no GOROOT.
	run := exec.Command("/nozone")
	run.Dir, run.Env = "/", []string{}
	run.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() != 0 {
		run.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		run.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		run.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := run.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		// some containers have neither privileges nor user namespaces, and installing something does not help
		t.Skipf("this system does not allow chroot: %v", err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"(timezone_unknown)", `import _ "time/tzdata"`, "tzdata package"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in: %s", want, out)
		}
	}
}
