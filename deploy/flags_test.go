package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chimedFlags returns the flags of a command of chimed from a usage text in its source.
func chimedFlags(t testing.TB, file, usage string) (names []string) {
	t.Helper()
	_, after, found := strings.Cut(readFile(t, "../httpapi/cmd/chimed/"+file), "const "+usage+" = `")
	text, _, ended := strings.Cut(after, "`")
	if !found || !ended {
		t.Fatalf("%s has no %s", file, usage)
	}
	for _, flag := range regexp.MustCompile(`(?m)^  -([a-z-]+) `).FindAllStringSubmatch(text, -1) {
		names = append(names, flag[1])
	}
	return names
}

// execStart is the command of the unit, with its words.
func execStart(t testing.TB) []string {
	t.Helper()
	line := regexp.MustCompile(`(?m)^ExecStart=(.+)$`).FindStringSubmatch(readFile(t, "systemd/chimed.service"))
	if line == nil {
		t.Fatal("the unit has no ExecStart")
	}
	return strings.Fields(line[1])
}

func TestEachFlagOfChimedExists(t *testing.T) {
	serve := chimedFlags(t, "settings.go", "serveUsage")
	image := readImage(t)
	if len(image.healthcheck) != 2 || image.healthcheck[1] != "health" {
		t.Errorf("the HEALTHCHECK is %q", image.healthcheck)
	}
	for where, arguments := range map[string][]string{
		"Dockerfile": image.entrypoint[1:], "compose.yaml": composeProject(t).Services["chimed"].Command, "chimed.service": execStart(t)[1:],
		"kubernetes/chimed.yaml": readManifest(t).container().Args,
	} {
		for _, argument := range arguments {
			if name, _, _ := strings.Cut(argument, "="); strings.HasPrefix(name, "-") && !slices.Contains(serve, name[1:]) {
				t.Errorf("%s: chimed has no flag %s", where, name)
			}
		}
	}
	readme := readFile(t, "README.md")
	token := chimedFlags(t, "token.go", "tokenUsage")
	for _, command := range regexp.MustCompile(`chimed token [^\n]*? (-[a-z-]+)`).FindAllStringSubmatch(readme+readFile(t, "compose/setup.sh"), -1) {
		if !slices.Contains(token, command[1][1:]) {
			t.Errorf("chimed token has no flag %s", command[1])
		}
	}
	for _, flag := range regexp.MustCompile("`-([a-z-]+)`").FindAllStringSubmatch(readme, -1) {
		if !slices.Contains(serve, flag[1]) {
			t.Errorf("README.md: chimed has no flag -%s", flag[1])
		}
	}
}

// The files of this folder give chimed as long to stop as its source says.
func TestTheTimeToStopIsThatOfTheSource(t *testing.T) {
	total := 6 * time.Second // after the handlers, see WorkerOptions.DrainTimeout
	for file, name := range map[string]string{"../httpapi/cmd/chimed/serve.go": "httpDrain", "../chime.go": "defaultDrainTimeout"} {
		value := regexp.MustCompile(`\b` + name + ` += (\d+) \* time\.Second\b`).FindStringSubmatch(readFile(t, file))
		if value == nil {
			t.Fatalf("%s does not set %s", file, name)
		}
		seconds, _ := strconv.Atoi(value[1])
		total += time.Duration(seconds) * time.Second
	}
	if total != shutdown {
		t.Errorf("chimed needs up to %v to stop, the tests of this folder expect %v", total, shutdown)
	}
}

// Each variable CHIMED_… in any file is a flag's.
func TestEachVariableOfChimedExists(t *testing.T) {
	serve := chimedFlags(t, "settings.go", "serveUsage")
	found := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, ".go") || strings.HasPrefix(filepath.Base(path), "go.") || path == "chimed" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, variable := range regexp.MustCompile(`\bCHIMED_([A-Z][A-Z_]*)`).FindAllStringSubmatch(string(text), -1) {
			found++
			if name := strings.ToLower(strings.ReplaceAll(variable[1], "_", "-")); !slices.Contains(serve, name) {
				t.Errorf("%s: chimed does not read %s", path, variable[0])
			}
		}
		return err
	})
	if err != nil || found < 8 {
		t.Errorf("%d variables are found: this test searches in the wrong place: %v", found, err)
	}
}

// Each path of the repository that a command of the page names exists; the build makes two of them.
func TestThePathsOfTheCommandsExist(t *testing.T) {
	made := []string{"deploy/chimed", "deploy/", "deploy/compose/secrets/tokens"}
	paths := regexp.MustCompile(`\bdeploy/[a-z./-]*`).FindAllString(readFile(t, "README.md"), -1)
	for _, path := range paths {
		if path = strings.TrimSuffix(path, "."); slices.Contains(made, path) {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", path)); err != nil {
			t.Error(err)
		}
	}
	if len(paths) < 10 {
		t.Errorf("%q are found: this test searches in the wrong place", paths)
	}
}

// What the commands of the page write is not committed.
func TestGitIgnoresSecrets(t *testing.T) {
	ignored := readFile(t, "../.gitignore")
	for _, path := range []string{"compose/.env", "compose/secrets/", "chimed", "ca-certificates.crt"} {
		if !strings.Contains(ignored, "\n/deploy/"+path+"\n") {
			t.Errorf(".gitignore does not contain /deploy/%s", path)
		}
	}
	for file := range readImage(t).copied {
		if !strings.Contains(readFile(t, ".dockerignore"), "\n!"+file+"\n") {
			t.Errorf(".dockerignore keeps %s out", file)
		}
	}
}
