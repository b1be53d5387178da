package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"sigs.k8s.io/yaml"
)

// The variables that setup.sh writes into .env.
var setupVariables = []string{"REDIS_PASSWORD", "GRAFANA_PASSWORD", "SECRETS_GROUP"}

// loadCompose reads the compose file of a folder with compose's own loader, which checks it against compose's schema.
func loadCompose(t testing.TB, folder string, environment map[string]string) (*types.Project, error) {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: folder, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(folder, "compose.yaml")}}, Environment: environment,
	})
}

func readCompose(t testing.TB, folder string, environment map[string]string) *types.Project {
	t.Helper()
	project, err := loadCompose(t, folder, environment)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func composeProject(t testing.TB) *types.Project {
	t.Helper()
	environment := map[string]string{}
	for _, name := range setupVariables {
		environment[name] = "value-of-" + name
	}
	return readCompose(t, "compose", environment)
}

// A start without setup.sh is refused, and not one with an empty password.
func TestTheComposeFileNeedsTheVariablesOfSetup(t *testing.T) {
	for _, missing := range setupVariables {
		environment := map[string]string{}
		for _, name := range setupVariables {
			if name != missing {
				environment[name] = "value"
			}
		}
		if _, err := loadCompose(t, "compose", environment); err == nil || !strings.Contains(err.Error(), "run setup.sh first") {
			t.Errorf("without %s: got %v, want an error that names setup.sh", missing, err)
		}
	}
}

func TestTheFilesOfTheComposeFileExist(t *testing.T) {
	mounted := 0
	for name, service := range composeProject(t).Services {
		for _, volume := range service.Volumes {
			if volume.Type != types.VolumeTypeBind {
				continue
			}
			mounted++
			if info, err := os.Stat(volume.Source); err != nil || info.IsDir() {
				t.Errorf("%s mounts %s: %v", name, volume.Source, err)
			}
			if !volume.ReadOnly {
				t.Errorf("%s may write %s", name, volume.Source)
			}
		}
	}
	if mounted < 6 {
		t.Errorf("%d files are mounted: this test reads the file wrongly", mounted)
	}
}

func TestTheComposeFileExposesNothing(t *testing.T) {
	project := composeProject(t)
	for name, service := range project.Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %s on %q, want 127.0.0.1", name, port.Published, port.HostIP)
			}
		}
		if !slices.Equal(service.CapDrop, []string{"ALL"}) || !slices.Contains(service.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s keeps capabilities", name)
		}
	}
	redis := project.Services["redis"]
	if len(redis.Ports) > 0 || len(redis.Networks) != 1 || !project.Networks["store"].Internal {
		t.Error("more than chimed can reach Redis")
	}
	if _, ok := redis.Networks["store"]; !ok {
		t.Error("Redis is not in the network store")
	}
	if strings.Contains(strings.Join(redis.Command, " "), "value-of-REDIS_PASSWORD") {
		t.Error("the password of Redis is an argument")
	}
	if !strings.Contains(readFile(t, "compose/redis.conf"), "\nappendonly yes\n") {
		t.Error("Redis has no append-only file")
	}
}

// The containers have the group of the secrets, and time to stop; they find each other.
func TestTheServicesOfTheComposeFileFitTogether(t *testing.T) {
	project := composeProject(t)
	chimed, prometheus, grafana := project.Services["chimed"], project.Services["prometheus"], project.Services["grafana"]
	for _, service := range []types.ServiceConfig{chimed, prometheus} {
		if !strings.HasSuffix(service.User, ":value-of-SECRETS_GROUP") || strings.HasPrefix(service.User, "0:") {
			t.Errorf("%s has user %s, want the group of the secrets", service.Name, service.User)
		}
	}
	if grace := time.Duration(*chimed.StopGracePeriod); grace < shutdown+5*time.Second {
		t.Errorf("chimed gets %v to stop, want more than %v", grace, shutdown)
	}
	if got := *chimed.Environment["CHIMED_REDIS"]; got != "redis://:value-of-REDIS_PASSWORD@redis:6379/0" {
		t.Errorf("CHIMED_REDIS is %s", got)
	}
	paths := map[string]bool{}
	for _, service := range []types.ServiceConfig{chimed, prometheus} {
		for _, secret := range service.Secrets {
			paths["/run/secrets/"+secret.Source] = true
		}
	}
	for _, volume := range slices.Concat(prometheus.Volumes, grafana.Volumes) {
		paths[volume.Target] = true
	}
	named := slices.DeleteFunc(slices.Clone([]string(chimed.Command)), func(argument string) bool { return !strings.HasPrefix(argument, "/") })
	named = append(named, regexp.MustCompile(`/(?:etc|run)/[a-z./-]+`).FindAllString(readFile(t, "compose/prometheus.yml"), -1)...)
	for _, path := range named {
		if !paths[path] {
			t.Errorf("no container has the file %s", path)
		}
		delete(paths, path)
	}
	if len(named) != 4 {
		t.Errorf("%q are named, want four files", named)
	}

	port := strings.TrimSpace(regexp.MustCompile(`(?m)^EXPOSE (\d+)$`).FindStringSubmatch(readFile(t, "Dockerfile"))[1])
	if target := `"chimed:` + port + `"`; !strings.Contains(readFile(t, "compose/prometheus.yml"), target) {
		t.Errorf("Prometheus does not scrape %s", target)
	}
	var datasource struct {
		Datasources []struct{ URL, Type string }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "compose/grafana/datasource.yaml")), &datasource); err != nil {
		t.Fatal(err)
	}
	if got := datasource.Datasources[0]; got.URL != "http://prometheus:9090" || got.Type != "prometheus" {
		t.Errorf("Grafana reads %v", got)
	}
	var dashboards struct {
		Providers []struct{ Options struct{ Path string } }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "compose/grafana/dashboards.yaml")), &dashboards); err != nil {
		t.Fatal(err)
	}
	if folder := dashboards.Providers[0].Options.Path; !slices.ContainsFunc(grafana.Volumes, func(v types.ServiceVolumeConfig) bool { return filepath.Dir(v.Target) == folder }) {
		t.Errorf("Grafana has no dashboard in %s", folder)
	}
}
