package imagetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

const subjectPath = "github.com/leakgate/leakgate/refscan/internal/imagetest/testdata/subject"

// subjectTimeout is far more than linking and running the subject take.
const subjectTimeout = 5 * time.Minute

// recording is made once in a process.
var recording struct {
	sync.Once
	image *Image
	exe   []byte
	err   error
	log   string
}

// Record builds testdata/subject with the Go version of the test and runs it. It returns the program's image, which
// all tests of a process share, and the path of the program, which has debug information. Without -race, images are about
// 20 MB.
func Record(tb testing.TB) (im *Image, program string) {
	tb.Helper()
	recording.Do(func() { recording.image, recording.exe, recording.log, recording.err = record() })
	if recording.err != nil {
		tb.Fatalf("recording an image: %v\n%s", recording.err, recording.log)
	}
	program = filepath.Join(tb.TempDir(), "subject")
	if err := os.WriteFile(program, recording.exe, 0o700); err != nil {
		tb.Fatal(err)
	}
	return recording.image, program
}

func record() (im *Image, exe []byte, log string, err error) {
	dir, err := os.MkdirTemp("", "imagetest")
	if err != nil {
		return nil, nil, "", err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), subjectTimeout)
	defer cancel()
	program, out := filepath.Join(dir, "subject"), filepath.Join(dir, "image")
	for _, args := range [][]string{{"go", "build", "-o", program, subjectPath}, {program, out}} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOMAXPROCS=2")
		if log, err := cmd.CombinedOutput(); err != nil {
			return nil, nil, string(log), err
		}
	}
	if exe, err = os.ReadFile(program); err != nil {
		return nil, nil, "", err
	}
	b, err := os.ReadFile(out)
	if err != nil {
		return nil, nil, "", err
	}
	im, err = parse(b)
	return im, exe, "", err
}
