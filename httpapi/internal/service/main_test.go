package service

import (
	"testing"

	"github.com/chimejobs/chime/internal/faketime"
)

func TestMain(m *testing.M) { faketime.Main(m) }
