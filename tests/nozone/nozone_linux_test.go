// Package nozone tests recurrence in a process without time zone data. The tests of recurrence cannot do this: they import time/tzdata.
package nozone

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/chimejobs/chime/recurrence"
)

// emptyRoot is the environment variable that contains the new root folder of the child process.
const emptyRoot = "CHIME_EMPTY_ROOT"

// The test runs its own binary again. That process changes its root to an empty folder, so it has neither /usr/share/zoneinfo nor a GOROOT, like a
// program in an image made FROM scratch.
func TestWithoutZoneDataTheErrorNamesThePackageToInstall(t *testing.T) {
	if root := os.Getenv(emptyRoot); root != "" {
		printErrorsWithoutZones(t, root)
		return
	}
	run := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	run.Env = []string{emptyRoot + "=" + t.TempDir()}
	if os.Getuid() != 0 {
		run.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
	}
	out, err := run.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || strings.Contains(string(out), syscall.EPERM.Error()) {
		// some containers have neither privileges nor user namespaces; installing something does not help
		t.Skipf("this system does not allow chroot: %v\n%s", err, out)
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

func printErrorsWithoutZones(t *testing.T, root string) {
	if err := errors.Join(syscall.Chroot(root), os.Chdir("/")); err != nil {
		t.Fatal(err)
	}
	_, err := recurrence.Parse([]byte(`{"frequency":"day","timeZone":"Europe/Berlin"}`))
	fmt.Println(err)
	if _, err := recurrence.Parse([]byte(`{"frequency":"day"}`)); err != nil {
		t.Errorf("without a timeZone: %v", err)
	}
}
