package repeat

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/leakgate/leakgate/refscan"
	"github.com/leakgate/leakgate/refscan/scanreport"
)

// An endpoint is the address of a refscanhttp.Handler. The process may serve net/http/pprof beside
// it.
type endpoint string

// look asks for a report, before which the process collects garbage, and for goroutines.
func (e endpoint) look(ctx context.Context) (report *refscan.Report, stacks string, err error) {
	u, err := url.Parse(string(e))
	if err != nil {
		return nil, "", err
	}
	u.RawQuery = "format=json"
	text, err := get(ctx, u)
	if err != nil {
		return nil, "", err
	}
	scan, err := scanreport.Decode(text, string(e))
	if err != nil {
		return nil, "", err
	}
	u.Path, u.RawQuery = "/debug/pprof/goroutine", "debug=2"
	if text, err = get(ctx, u); err != nil {
		return scan.Report, "", nil // it does not serve them
	}
	return scan.Report, string(text), nil
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 256 << 20

// request sends a request, with a connection of its own.
func request(ctx context.Context, address string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
}

func get(ctx context.Context, u *url.URL) ([]byte, error) {
	answer, err := request(ctx, u.String())
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch err = cmp.Or(err, answer.Body.Close()); {
	case err != nil:
		return nil, err
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20)
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(text[:min(len(text), 500)])))
	}
	return text, nil
}
