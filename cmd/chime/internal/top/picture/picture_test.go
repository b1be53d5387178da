package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestThePictureInTheDocsIsTheScreen(t *testing.T) {
	got := picture()
	want, err := os.ReadFile("../../../../../docs/images/top.svg")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("docs/images/top.svg is another one: run go run ./internal/top/picture in cmd/chime to update it")
	}
	if !bytes.Equal(got, picture()) {
		t.Error("the picture drawn twice has other bytes")
	}
}

func TestThePictureIsXMLWithAllPanels(t *testing.T) {
	decoder, text := xml.NewDecoder(bytes.NewReader(picture())), ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, is := token.(xml.CharData); is {
			text += string(data)
		}
	}
	for _, want := range []string{"1 Queues (4)", "2 Next (5)", "3 Running (40)", "4 Failures, last hour (4)", "5 Workers (3)", "‖ paused", "▓▓▓▓░░ 62 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture has no %q", want)
		}
	}
}

func TestRunsStandInTheirColumns(t *testing.T) {
	got := runs(" a b  \x1b[32m● live\x1b[m   \x1b[2m0\x1b[m─x")
	want := []run{{1, "a b", ""}, {6, "● live", "g"}, {15, "0", "f"}, {16, "─x", ""}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
