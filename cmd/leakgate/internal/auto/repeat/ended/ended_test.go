package ended

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counted is what was counted under a key.
func counted(key string) (t tally) {
	Each(func(k string, made, ended, nothing int64) {
		if k == key {
			t = tally{made, ended, nothing}
		}
	})
	return t
}

// begin starts to count anew.
func begin() {
	mu.Lock()
	clear(counts)
	clear(objects)
	mu.Unlock()
	Begin()
}

type client struct{ _ [16]byte }

func open(key string, fail bool) (c *client) {
	defer Made(key, &c)
	if fail {
		return nil
	}
	return new(client)
}

// An object counts once, however many functions hand it on and however often it is ended.
func TestObjects(t *testing.T) {
	begin()
	c := open("Open", false)
	Made("Wrap", &c)
	Made("Open", &c)
	require.Equal(t, tally{1, 0, 0}, counted("Open"))
	Ended(c)
	Ended(c)
	require.Equal(t, tally{1, 1, 0}, counted("Open"))
	require.Equal(t, tally{1, 1, 0}, counted("Wrap"))
	open("Fail", true)
	require.Equal(t, tally{0, 0, 1}, counted("Fail"))
	runtime.KeepAlive(c)
}

func TestFunctions(t *testing.T) {
	begin()
	calls := 0
	end := func() { calls++ }
	MadeFunc("Subscribe", &end)
	require.Equal(t, tally{1, 0, 0}, counted("Subscribe"))
	end()
	end()
	require.Equal(t, 2, calls)
	require.Equal(t, tally{1, 1, 0}, counted("Subscribe"))
	Did("Add")
	Did("Add")
	Undid("Add")
	require.Equal(t, tally{2, 1, 0}, counted("Add"))
}

// A context that never ends is not the caller's to end.
func TestContexts(t *testing.T) {
	begin()
	Passed("Run#background", context.Background())
	require.Equal(t, tally{}, counted("Run#background"))
	ctx, cancel := context.WithCancel(context.Background())
	Passed("Run#ctx", ctx)
	require.Equal(t, tally{1, 0, 0}, counted("Run#ctx"))
	cancel()
	require.Equal(t, tally{1, 1, 0}, counted("Run#ctx"))
	runtime.KeepAlive(ctx)
}

// Whether a channel is closed is seen without a receive, which would take the program's values.
func TestChannels(t *testing.T) {
	begin()
	require.True(t, known)
	buffered, direct := make(chan int, 1), make(chan int)
	Passed("Run#buffered", buffered)
	Passed("Run#direct", (<-chan int)(direct))
	buffered <- 1
	go func() { direct <- 2 }()
	for range 100 {
		runtime.Gosched() // the other goroutine may send by now
		require.Equal(t, tally{1, 0, 0}, counted("Run#direct"))
	}
	require.Equal(t, tally{1, 0, 0}, counted("Run#buffered"))
	require.Len(t, buffered, 1)
	require.Equal(t, 2, <-direct)
	close(buffered) // with a value in it
	close(direct)
	require.Equal(t, tally{1, 1, 0}, counted("Run#buffered"))
	require.Equal(t, tally{1, 1, 0}, counted("Run#direct"))
	require.Equal(t, 1, <-buffered)
}

// What is passed ends when it is closed, and is left as it is until then.
func TestClosed(t *testing.T) {
	begin()
	for name, open := range map[string]func() (io.Closer, error){
		"listener": func() (io.Closer, error) { return net.Listen("tcp", "127.0.0.1:0") },
		"file":     func() (io.Closer, error) { return os.Open(os.DevNull) },
		"pipe": func() (io.Closer, error) {
			c, _ := net.Pipe()
			return c, c.SetDeadline(time.Unix(1, 0))
		},
	} {
		c, err := open()
		require.NoError(t, err)
		Passed("Serve#"+name, c)
		require.Equal(t, tally{1, 0, 0}, counted("Serve#"+name))
		if conn, ok := c.(net.Conn); ok {
			_, err := conn.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		require.NoError(t, c.Close())
		require.Equal(t, tally{1, 1, 0}, counted("Serve#"+name))
	}
}

// calling is a context of the program's, whose method calls this package.
type calling struct{ context.Context }

func (calling) Done() <-chan struct{} { return make(chan struct{}) }

func (calling) Err() error {
	Did("Err")
	return context.Canceled
}

func TestMethodsOfTheProgram(t *testing.T) {
	begin()
	ctx := &calling{context.Background()}
	Passed("Run#calling", ctx)
	require.Equal(t, tally{1, 1, 0}, counted("Run#calling"))
	runtime.KeepAlive(ctx)
}

// A field that ends an object is replaced once, whichever functions hand the object out.
func TestFields(t *testing.T) {
	type app struct{ Stop func() }
	begin()
	calls := 0
	a := &app{func() { calls++ }}
	MadeWithFunc("Start", &a, "Stop")
	once := reflect.ValueOf(a.Stop).UnsafePointer()
	MadeWithFunc("Start", &a, "Stop")
	MadeWithFunc("Default", &a, "Stop")
	require.Equal(t, once, reflect.ValueOf(a.Stop).UnsafePointer())
	a.Stop()
	a.Stop()
	require.Equal(t, 2, calls)
	require.Equal(t, tally{1, 1, 0}, counted("Start"))
	require.Equal(t, tally{1, 1, 0}, counted("Default"))
}

// A body of the transport's is ended by Close. One that code can tell by its type, or by what it is
// equal to, stays as it is.
func TestBodies(t *testing.T) {
	begin()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) }))
	defer srv.Close()
	resp, err := http.Get(srv.URL + "/a")
	require.NoError(t, err)
	MadeBody("Get", &resp)
	MadeBody("Retry", &resp)
	MadeBody("Get", &resp)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "/a", string(text))
	require.Equal(t, tally{1, 0, 0}, counted("Get"))
	require.NoError(t, resp.Body.Close())
	require.Equal(t, tally{1, 1, 0}, counted("Get"))
	require.Equal(t, tally{1, 1, 0}, counted("Retry"))
	own := io.NopCloser(strings.NewReader(""))
	for _, b := range []io.ReadCloser{http.NoBody, own, nil} {
		resp := &http.Response{Body: b}
		MadeBody("Stub", &resp)
		require.True(t, resp.Body == b)
	}
	require.Equal(t, tally{3, 0, 0}, counted("Stub"))
	resp = nil
	MadeBody("Fail", &resp)
	require.Equal(t, tally{0, 0, 1}, counted("Fail"))
	other := &struct{ Body int }{}
	MadeBody("Other", &other)
	require.Equal(t, tally{}, counted("Other"))
}
