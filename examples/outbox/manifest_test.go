package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// The Kubernetes manifests in docs/operating.md are parsed strictly: a misspelt field, or one at the wrong level, is an error.
type (
	object struct {
		Name   string
		Labels map[string]string
	}
	selector struct {
		MatchLabels map[string]string `yaml:"matchLabels"`
	}
	deployment struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   object
		Spec       struct {
			Replicas int
			Selector selector
			Strategy struct {
				RollingUpdate struct {
					MaxUnavailable int `yaml:"maxUnavailable"`
				} `yaml:"rollingUpdate"`
			}
			Template struct {
				Metadata object
				Spec     struct {
					TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
					Containers                    []struct {
						Name, Image string
						Env         []struct {
							Name, Value string
							ValueFrom   struct {
								SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
							} `yaml:"valueFrom"`
						}
						Resources       struct{ Requests, Limits map[string]string }
						SecurityContext map[string]bool `yaml:"securityContext"`
					}
				}
			}
		}
	}
	budget struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   object
		Spec       struct {
			MinAvailable int `yaml:"minAvailable"`
			Selector     selector
		}
	}
)

// shutdown is the maximum time of Run with the default options and a scheduler, from the README.
const shutdown = 31 * time.Second

func TestTheManifestsOfTheDocsAreRead(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n```yaml\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/operating.md has no manifest")
	}
	documents := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	documents.KnownFields(true)
	var d deployment
	var b budget
	if err := documents.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if err := documents.Decode(&b); err != nil {
		t.Fatal(err)
	}
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || b.APIVersion != "policy/v1" || b.Kind != "PodDisruptionBudget" {
		t.Errorf("they are %s %s and %s %s", d.APIVersion, d.Kind, b.APIVersion, b.Kind)
	}
	app := d.Spec.Template.Metadata.Labels["app"]
	if app == "" || d.Spec.Selector.MatchLabels["app"] != app || b.Spec.Selector.MatchLabels["app"] != app {
		t.Errorf("the label app of the pods is %q, their deployment's %v, their budget's %v", app, d.Spec.Selector, b.Spec.Selector)
	}
	if grace := time.Duration(d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace < shutdown+5*time.Second {
		t.Errorf("the pods have %v to stop, want more than %v", grace, shutdown)
	}
	if b.Spec.MinAvailable >= d.Spec.Replicas {
		t.Errorf("of %d replicas %d must run: no node can be drained", d.Spec.Replicas, b.Spec.MinAvailable)
	}
}
