// Package deploy_test checks the files of this folder. The tests with the build tag real run the programs that read these files.
package deploy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// shutdown is the longest time from SIGTERM to the end of a chimed: 10 s for open requests, 25 s for running jobs, 6 s for its roles.
const shutdown = 41 * time.Second

// A manifest has the objects of kubernetes/chimed.yaml.
type manifest struct {
	account    corev1.ServiceAccount
	deployment appsv1.Deployment
	service    corev1.Service
	budget     policyv1.PodDisruptionBudget
	policy     networkingv1.NetworkPolicy
}

// parse reads a manifest as Kubernetes does with strict validation: it refuses unknown fields, keys in other letters, and duplicates.
func (m *manifest) parse(text string) error {
	objects := map[string]any{
		"v1 ServiceAccount": &m.account, "apps/v1 Deployment": &m.deployment, "v1 Service": &m.service,
		"policy/v1 PodDisruptionBudget": &m.budget, "networking.k8s.io/v1 NetworkPolicy": &m.policy,
	}
	for document := range strings.SplitSeq(text, "\n---\n") {
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return err
		}
		var kind metav1.TypeMeta
		if err := json.Unmarshal(data, &kind); err != nil {
			return err
		}
		name := kind.APIVersion + " " + kind.Kind
		if objects[name] == nil {
			return fmt.Errorf("an unknown or second %s", name)
		}
		strict, err := kjson.UnmarshalStrict(data, objects[name])
		if err := errors.Join(append(strict, err)...); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		delete(objects, name)
	}
	if len(objects) > 0 {
		return fmt.Errorf("missing: %q", slices.Sorted(maps.Keys(objects)))
	}
	return nil
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func readManifest(t testing.TB) *manifest {
	t.Helper()
	var m manifest
	if err := m.parse(readFile(t, "kubernetes/chimed.yaml")); err != nil {
		t.Fatal(err)
	}
	return &m
}

func (m *manifest) pod() *corev1.PodSpec         { return &m.deployment.Spec.Template.Spec }
func (m *manifest) container() *corev1.Container { return &m.pod().Containers[0] }

func TestMistakesInAManifestAreFound(t *testing.T) {
	text := readFile(t, "kubernetes/chimed.yaml")
	for _, c := range []struct{ old, new string }{
		{"readinessProbe:", "readynessProbe:"},
		{"readinessProbe:", "readinessprobe:"},
		{"replicas: 2", "replicas: two"},
		{"replicas: 2", "replicas: 2\n  replicas: 2"},
		{"policyTypes:", "podSelector: {}\n  policyTypes:"},
		{"kind: Service\n", "kind: Servlet\n"},
		{"fsGroup: 65532", "fsGroup: chimed"},
	} {
		if broken := strings.Replace(text, c.old, c.new, 1); broken == text {
			t.Errorf("the manifest does not contain %q", c.old)
		} else if err := new(manifest).parse(broken); err == nil {
			t.Errorf("with %q instead of %q: no error", c.new, c.old)
		}
	}
}

func TestTheObjectsOfTheManifestBelongTogether(t *testing.T) {
	m := readManifest(t)
	labels := m.deployment.Spec.Template.Labels
	for name, selector := range map[string]map[string]string{
		"Deployment": m.deployment.Spec.Selector.MatchLabels, "Service": m.service.Spec.Selector,
		"PodDisruptionBudget": m.budget.Spec.Selector.MatchLabels, "NetworkPolicy": m.policy.Spec.PodSelector.MatchLabels,
	} {
		if !maps.Equal(selector, labels) {
			t.Errorf("%s selects %v, the pods have %v", name, selector, labels)
		}
	}
	if got, want := m.pod().ServiceAccountName, m.account.Name; got != want {
		t.Errorf("the pod has account %q, want %q", got, want)
	}
	port := m.container().Ports[0]
	if got := m.service.Spec.Ports[0].TargetPort.StrVal; got != port.Name {
		t.Errorf("the Service leads to port %q, want %q", got, port.Name)
	}
	if got := m.policy.Spec.Ingress[0].Ports[0].Port.IntVal; got != port.ContainerPort {
		t.Errorf("the NetworkPolicy permits port %d, want %d", got, port.ContainerPort)
	}
	if listen := "CHIMED_LISTEN=:" + fmt.Sprint(port.ContainerPort); !slices.Contains(environment(m), listen) {
		t.Errorf("the environment %q has no %s", environment(m), listen)
	}
}

// environment are the variables of the container with their values.
func environment(m *manifest) (variables []string) {
	for _, variable := range m.container().Env {
		variables = append(variables, variable.Name+"="+variable.Value)
	}
	return variables
}

func TestAPodHasTimeToStop(t *testing.T) {
	m := readManifest(t)
	pause := time.Duration(m.container().Lifecycle.PreStop.Sleep.Seconds) * time.Second
	if got, least := time.Duration(*m.pod().TerminationGracePeriodSeconds)*time.Second, pause+shutdown+5*time.Second; got < least {
		t.Errorf("terminationGracePeriodSeconds: %v, want at least %v", got, least)
	}
	for name, probe := range map[string]*corev1.Probe{"/livez": m.container().LivenessProbe, "/readyz": m.container().ReadinessProbe} {
		if probe.HTTPGet.Path != name || probe.HTTPGet.Port.StrVal != m.container().Ports[0].Name {
			t.Errorf("a probe has path %s and port %s, want %s and %s", probe.HTTPGet.Path, probe.HTTPGet.Port.String(), name, m.container().Ports[0].Name)
		}
	}
}

// A pod has no right that chimed does not use, and only its group may read its secrets.
func TestAPodHasTheLeastRights(t *testing.T) {
	m := readManifest(t)
	pod, of := m.pod().SecurityContext, m.container().SecurityContext
	if *pod.FSGroup != *pod.RunAsGroup || *pod.RunAsUser == 0 || !*pod.RunAsNonRoot || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod has %v", pod)
	}
	if *of.AllowPrivilegeEscalation || !*of.ReadOnlyRootFilesystem || !slices.Equal(of.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container has %v", of)
	}
	if *m.pod().AutomountServiceAccountToken || *m.account.AutomountServiceAccountToken || *m.pod().EnableServiceLinks {
		t.Error("the pod has a token of Kubernetes, or variables of Services")
	}
	if user := fmt.Sprintf("%d:%d", *pod.RunAsUser, *pod.RunAsGroup); user != readImage(t).user {
		t.Errorf("the pod has user %s, the image %s", user, readImage(t).user)
	}
	secret := m.pod().Volumes[0].Secret
	if *secret.DefaultMode != 0o440 {
		t.Errorf("defaultMode is %#o, want 0440", *secret.DefaultMode)
	}
	mount := m.container().VolumeMounts[0]
	mounted := map[string]bool{}
	for _, item := range secret.Items {
		if item.Mode != nil {
			t.Errorf("%s has a mode of its own: %#o", item.Path, *item.Mode)
		}
		mounted[mount.MountPath+"/"+item.Path] = true
	}
	for _, argument := range m.container().Args {
		_, value, _ := strings.Cut(argument, "=")
		if strings.HasPrefix(value, "/") && !mounted[value] {
			t.Errorf("%s: the pod has no such file", argument)
		}
		delete(mounted, value)
	}
	if len(mounted) > 0 || !mount.ReadOnly {
		t.Errorf("%v: mounted and not used; read-only: %v", mounted, mount.ReadOnly)
	}
}

// Requests of jobs go to public addresses only, also if chimed had a flaw; DNS and Redis are permitted.
func TestTheNetworkPolicyPermitsWhatChimedNeeds(t *testing.T) {
	m := readManifest(t)
	if !slices.Equal(m.policy.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress", "Egress"}) {
		t.Errorf("policyTypes: %q", m.policy.Spec.PolicyTypes)
	}
	permits := func(address string) bool {
		at := netip.MustParseAddr(address)
		for _, rule := range m.policy.Spec.Egress {
			for _, to := range rule.To {
				if to.IPBlock == nil || !netip.MustParsePrefix(to.IPBlock.CIDR).Contains(at) {
					continue
				}
				if !slices.ContainsFunc(to.IPBlock.Except, func(net string) bool { return netip.MustParsePrefix(net).Contains(at) }) {
					return true
				}
			}
		}
		return false
	}
	for address, want := range map[string]bool{
		"93.184.215.14": true, "1.1.1.1": true, "172.32.0.1": true, "2606:4700:4700::1111": true,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "fe80::1": false, "fd00::1": false, "ff02::1": false,
	} {
		if permits(address) != want {
			t.Errorf("%s: permitted %v, want %v", address, !want, want)
		}
	}
	ports := map[string]string{} // port → to what
	for _, rule := range m.policy.Spec.Egress {
		if len(rule.Ports) == 0 || len(rule.To) == 0 {
			t.Error("an egress rule permits all ports or all receivers")
		}
		for _, port := range rule.Ports {
			to := "addresses"
			if selector := rule.To[0].PodSelector; selector != nil {
				to = fmt.Sprint(selector.MatchLabels)
			}
			ports[fmt.Sprint(port.Port, " ", *port.Protocol)] = to
		}
	}
	want := map[string]string{"53 UDP": "map[k8s-app:kube-dns]", "53 TCP": "map[k8s-app:kube-dns]", "6379 TCP": "map[app:redis]", "80 TCP": "addresses", "443 TCP": "addresses"}
	if !maps.Equal(ports, want) {
		t.Errorf("egress permits %v, want %v", ports, want)
	}
}
