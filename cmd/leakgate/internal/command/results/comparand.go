package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A comparand is what commands compare and show: a run's report with the folder that its artifacts
// are relative to, or a profile.
type comparand struct {
	Run     *outcome.Run
	Dir     artifacts.Folder
	Profile *profile.Profile
}

// readComparand reads a leakgate.json, the folder with it, or a profile, which may be at the
// address of a server.
func readComparand(path string) (*comparand, error) {
	if strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://") {
		p, err := fetchProfile(path)
		return &comparand{Profile: p}, err
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		data, err := cli.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s is not there: give a leakgate.json, the folder with it, or a profile, which runs keep of assertions that passed only with -artifacts all", path)
		case err != nil:
			return nil, err
		case !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
			p, err := parseProfile(data)
			if err != nil {
				return nil, fmt.Errorf("%s is neither a report of leakgate run nor a profile: %w", path, err)
			}
			return &comparand{Profile: p}, nil
		}
	}
	folder, _ := outcome.Locate(path)
	run, err := outcome.Read(path)
	return &comparand{Run: run, Dir: folder}, err
}

// fetchTime bounds how long a process may take for its profile; for the first one it may have to
// find debug information.
const fetchTime = 3 * time.Minute

func fetchProfile(url string) (*profile.Profile, error) {
	client := &http.Client{Timeout: fetchTime}
	response, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		// The handler's text says what is wrong.
		text, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
		return nil, fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(text)))
	}
	data, err := wholefile.ReadAll(response.Body, url, wholefile.Most)
	if err != nil {
		return nil, err
	}
	p, err := parseProfile(data)
	if err != nil {
		return nil, fmt.Errorf("%s has no profile: %w", url, err)
	}
	return p, nil
}

// parseProfile reads a profile in any form that leakgate symbolize reads. An address that has no
// name gets its digits for one.
func parseProfile(data []byte) (*profile.Profile, error) {
	f, err := dump.ParseHeapProfile(data)
	if err != nil {
		return nil, err
	}
	p, last := f.Profile, uint64(0)
	for _, of := range p.Function {
		last = max(last, of.ID)
	}
	for _, l := range p.Location {
		if len(l.Line) == 0 {
			last++
			of := &profile.Function{ID: last, Name: fmt.Sprintf("%#x", l.Address)}
			p.Function = append(p.Function, of)
			l.Line = []profile.Line{{Function: of}}
		}
	}
	return p, nil
}
