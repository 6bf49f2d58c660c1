package imagetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/native"
)

const subjectPath = "github.com/leakgate/leakgate/internal/testkit/imagetest/testdata/subject"

// subjectTimeout is far more than linking and running the subject take.
const subjectTimeout = 5 * time.Minute

// A Program is the recorded program: its image and its debug information.
type Program struct {
	*Image
	Index    *debuginfo.Index
	sections map[string]image.Range // of the file
}

// Section returns the address range of a section of the program's file, an empty one if it has
// none.
func (p *Program) Section(name string) image.Range { return p.sections[name] }

// Load loads the model of the program's runtime from the image, or from a source that wraps it.
func (p *Program) Load(source image.Source) (*goruntime.Model, error) {
	m, err := goruntime.LoadSpans(image.NewSpace(source), p.Index, 0, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	return m, m.LoadObjects(p.Caller())
}

// Caller returns the goroutine that took the image.
func (p *Program) Caller() goruntime.Caller { return goruntime.Caller{G: p.G, PC: p.PC, SP: p.SP} }

// recording is made once per process.
var recording struct {
	sync.Once
	program Program
	err     error
	log     string
}

// Record builds testdata/subject with the Go version of the test and runs it. All tests of a
// process share what it returns; what they change in the image is mended when they end. Without
// -race, images are about 20 MB.
func Record(tb testing.TB) *Program {
	tb.Helper()
	recording.Do(func() { recording.program, recording.log, recording.err = record() })
	if recording.err != nil {
		tb.Fatalf("recording an image: %v\n%s", recording.err, recording.log)
	}
	recording.program.Mend()
	tb.Cleanup(recording.program.Mend)
	return &recording.program
}

func record() (p Program, log string, err error) {
	dir, err := os.MkdirTemp("", "imagetest")
	if err != nil {
		return Program{}, "", err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), subjectTimeout)
	defer cancel()
	program, out := filepath.Join(dir, "subject"), filepath.Join(dir, "image")
	for _, args := range [][]string{{"go", "build", "-o", program, subjectPath}, {program, out}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOMAXPROCS=2")
		if log, err := cmd.CombinedOutput(); err != nil {
			return Program{}, string(log), err
		}
	}
	file, err := native.Open(program)
	if err != nil {
		return Program{}, "", err
	}
	defer file.Close()
	p.sections = make(map[string]image.Range)
	for _, s := range file.Sections {
		p.sections[s.Name] = image.Range{Addr: s.Addr, Len: s.Size}
	}
	if p.Index, err = debuginfo.Build(file); err != nil {
		return Program{}, "", err
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return Program{}, "", err
	}
	p.Image, err = parse(b)
	return p, "", err
}
