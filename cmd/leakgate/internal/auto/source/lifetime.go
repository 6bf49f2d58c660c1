package source

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A Handing is a way in which a function leaves it to its callers to end what it makes: it returns
// something that can be ended, it is a method of something that can be, it is given something that
// the caller ends, or there is a function that undoes what it does.
type Handing struct {
	// Key is under which package ended counts; "": it cannot be seen whether a caller ends it,
	// since the standard library or another module does
	Key string
	// Text says what a caller is to do: "call Close of the *app.Client that app.New returns"
	Text string

	// Container says that what is undone is an entry of a container, and nothing else that grows.
	Container bool

	// Receiver is the type of the receiver, or of its owner, that is to be ended; "" for others
	Receiver string

	result int    // index of the result, -1: none
	param  string // name of the parameter
	call   string // of package ended
	fields []string
}

// endings are methods that end the use of their receiver, in lower case: both Shutdown and ShutDown
// occur, and tests within a package call stop as well as Stop.
var endings = []string{
	"close", "stop", "shutdown", "cancel", "terminate", "gracefulstop", "quit", "halt", "dispose",
	"destroy", "disconnect", "drain", "release", "unsubscribe", "unregister", "deregister", "detach", "unwatch", "kill", "end", "finish", "done",
	"teardown", "exit", "abort", "free", "remove", "leave", "join", "logout", "rollback",
}

const bodyEnd = "close the Body"

// standardEnds are types of other modules whose use a caller ends. It cannot be seen but for the
// Body of a response.
var standardEnds = map[string]string{
	"net/http.Response": bodyEnd, "os.File": "call Close", "net.Conn": "call Close", "net.Listener": "call Close", "io.Closer": "call Close",
	"io.ReadCloser": "call Close", "io.WriteCloser": "call Close", "io.ReadWriteCloser": "call Close", "database/sql.DB": "call Close",
	"database/sql.Rows": "call Close", "database/sql.Conn": "call Close", "database/sql.Tx": "call Commit or Rollback", "database/sql.Stmt": "call Close",
	"time.Ticker": "call Stop", "time.Timer": "call Stop", "os/exec.Cmd": "call Wait", "net/http.Server": "call Close", "net/http/httptest.Server": "call Close",
	"net.TCPListener": "call Close", "net.TCPConn": "call Close", "net.UDPConn": "call Close", "net.UnixConn": "call Close", "io.PipeReader": "call Close",
	"io.PipeWriter": "call Close", "net/http.Client": "call CloseIdleConnections", "net/http.Transport": "call CloseIdleConnections",
	"crypto/tls.Conn": "call Close", "net/rpc.Client": "call Close", "bufio.ReadWriter": "", "os.Process": "call Wait",
}

// endingPrefixes begin the names of other methods that do so, unless they return something:
// CloseSend, StopAll. Where a type has one of endings, too, they end a part of its use, such as
// StopJobs beside Shutdown, unless they go on with one of manners.
var (
	endingPrefixes = []string{"close", "stop", "shutdown"}
	manners        = []string{"with", "context", "now", "graceful", "immediate", "all", "andwait", "wait", "force"}
)

// endsPart reports whether a method, by its name, ends a part of a use that another one may end.
func endsPart(name string) bool {
	name = strings.ToLower(name)
	if slices.Contains(endings, name) || name == "wait" {
		return false
	}
	for _, prefix := range endingPrefixes {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return !slices.ContainsFunc(manners, func(manner string) bool { return strings.HasPrefix(rest, manner) })
		}
	}
	return true
}

// isBetter reports whether a method ends the use of a type more than the one that is known.
func (e ending) isBetter(method string) bool {
	return e.method == "" || endsPart(e.method) && !endsPart(method)
}

// onlyFails reports whether a method returns nothing, or an error.
func onlyFails(m *ast.FuncDecl) bool {
	results := m.Type.Results
	return results.NumFields() == 0 || results.NumFields() == 1 && isIdent(results.List[0].Type, "error")
}

// ending is how the use of a type is ended.
type ending struct {
	method string
	fields []string // embedded fields that lead to the type that has the method
	seen   bool     // calls of it are counted
	// an exported channel that callers close, or function that they call, in place of a method
	channel, function string
	value             bool // the method has no pointer receiver
}

// channels are names of fields that callers close, in lower case.
var channels = []string{"quit", "done", "stop", "exit", "close", "closed", "closing", "shutdown", "cancel", "kill", "end"}

// how says what a caller does to a value of the type, whose name follows.
func (e ending) how() string {
	switch {
	case e.channel != "":
		return "close " + e.channel + " of "
	case e.function != "":
		return "call " + e.function + " of "
	}
	return "call " + e.method + " of "
}

// known reports whether there is a way to end the use of the type.
func (e ending) known() bool { return e.method != "" || e.channel != "" || e.function != "" }

// ends reports whether a method ends the use of its receiver: by its name, or as a Wait that closes
// a channel, from which the goroutines of a pool learn that nothing more comes. Any other Wait, for
// example that of errgroup, waits for goroutines that may leak. A method that is given an object,
// or the name or number of one, ends the use of that. One that returns a number or a channel tells
// something of its receiver, such as how many of a pool's workers are free.
func ends(m *ast.FuncDecl) bool {
	name := strings.ToLower(m.Name.Name)
	if name == "wait" {
		return closesChannel(m)
	}
	begins := func(ending string) bool { return strings.HasPrefix(name, ending) }
	if tells(m) && !slices.ContainsFunc(endingPrefixes, begins) {
		return false
	}
	if !slices.Contains(endings, name) && !(onlyFails(m) && slices.ContainsFunc(endingPrefixes, begins)) {
		return false
	}
	for _, p := range m.Type.Params.List {
		switch t := p.Type.(type) {
		case *ast.StarExpr, *ast.ArrayType, *ast.FuncType, *ast.ChanType, *ast.MapType:
			return false
		case *ast.Ident:
			switch t.Name {
			case "bool", "error":
			case "int", "int32", "int64", "uint", "uint16":
				if slices.ContainsFunc(p.Names, func(n *ast.Ident) bool { return picks(m, n.Name) }) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// picks reports whether a method picks an element by a parameter: "jobs[id]", "delete(jobs, id)",
// "job.id == id". Other numbers are times and codes.
func picks(m *ast.FuncDecl, param string) (found bool) {
	if m.Body == nil {
		return false
	}
	ast.Inspect(m.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IndexExpr:
			found = found || isIdent(n.Index, param)
		case *ast.CallExpr:
			found = found || isIdent(n.Fun, "delete") && len(n.Args) == 2 && isIdent(n.Args[1], param)
		case *ast.BinaryExpr:
			_, isField := n.X.(*ast.SelectorExpr)
			found = found || n.Op == token.EQL && isField && isIdent(n.Y, param)
		}
		return !found
	})
	return found
}

// tells reports whether a method returns nothing but a number or a channel.
func tells(m *ast.FuncDecl) bool {
	if m.Type.Results.NumFields() != 1 {
		return false
	}
	switch t := m.Type.Results.List[0].Type.(type) {
	case *ast.ChanType:
		return true
	case *ast.Ident:
		return strings.HasPrefix(t.Name, "int") || strings.HasPrefix(t.Name, "uint")
	}
	return false
}

// waitsFor returns the fields of its receiver whose Wait a method calls, if it is a Wait itself.
func waitsFor(m *ast.FuncDecl) (fields []string) {
	if m.Recv == nil || len(m.Recv.List) != 1 || len(m.Recv.List[0].Names) != 1 || m.Body == nil || strings.ToLower(m.Name.Name) != "wait" {
		return nil
	}
	ast.Inspect(m.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok && call.Sel.Name == m.Name.Name {
			if field, ok := call.X.(*ast.SelectorExpr); ok && isIdent(field.X, m.Recv.List[0].Names[0].Name) {
				fields = append(fields, field.Sel.Name)
			}
		}
		return true
	})
	return fields
}

func closesChannel(m *ast.FuncDecl) (closes bool) {
	if m.Body == nil {
		return false
	}
	ast.Inspect(m.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			function, ok := call.Fun.(*ast.Ident)
			closes = closes || ok && function.Name == "close"
		}
		return !closes
	})
	return closes
}

// isPointerMethod reports whether a method has a pointer receiver.
func isPointerMethod(m *ast.FuncDecl) bool {
	_, ok := m.Recv.List[0].Type.(*ast.StarExpr)
	return ok
}

// methodsThatEnd returns, for each type, the first of its methods that ends its use: of structs, of
// interfaces, and of what structs embed within the package.
func methodsThatEnd(files []*ast.File) map[string]ending {
	found := make(map[string]ending)
	embedded := make(map[string][]string)
	types := make(map[string]string) // of fields: "Pool.workers"
	waits := make(map[string]*ast.FuncDecl)
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if len(waitsFor(d)) > 0 {
					waits[typeName(d.Recv.List[0].Type)] = d
				}
				if d.Recv != nil && len(d.Recv.List) == 1 && ends(d) {
					if of := typeName(d.Recv.List[0].Type); found[of].isBetter(d.Name.Name) {
						found[of] = ending{method: d.Name.Name, seen: true, value: !isPointerMethod(d)}
					}
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						noteType(t, found, embedded)
						noteFields(t, types)
					}
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for outer, wait := range waits {
			closes := func(field string) bool { return found[types[outer+"."+field]].method == wait.Name.Name }
			if !found[outer].known() && slices.ContainsFunc(waitsFor(wait), closes) {
				found[outer] = ending{method: wait.Name.Name, seen: true, value: !isPointerMethod(wait)}
				again = true
			}
		}
		for outer, fields := range embedded {
			for _, f := range fields {
				if e := found[f]; e.known() && !found[outer].known() {
					e.fields = append([]string{f}, e.fields...)
					found[outer] = e
					again = true
				}
			}
		}
	}
	return found
}

// standardEnd returns what a caller does with a type of another module, by its name in the source:
// "net.Conn"; "" if it does nothing.
func standardEnd(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	sel, ok := t.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name := pkg.Name + "." + sel.Sel.Name
	for full, end := range standardEnds {
		if full == name || strings.HasSuffix(full, "/"+name) {
			return end
		}
	}
	return ""
}

// noteType notes the methods of an interface that end its use, and what a struct embeds.
func noteType(t *ast.TypeSpec, found map[string]ending, embedded map[string][]string) {
	switch of := t.Type.(type) {
	case *ast.InterfaceType:
		for _, m := range of.Methods.List {
			f, ok := m.Type.(*ast.FuncType)
			if !ok || len(m.Names) != 1 {
				if standardEnd(m.Type) != "" {
					found[t.Name.Name] = ending{method: "Close", seen: true}
				}
				continue
			}
			if ends(&ast.FuncDecl{Name: m.Names[0], Type: f}) && found[t.Name.Name].isBetter(m.Names[0].Name) {
				found[t.Name.Name] = ending{method: m.Names[0].Name, seen: true}
			}
		}
	case *ast.StructType:
		for _, field := range of.Fields.List {
			_, isChannel := field.Type.(*ast.ChanType)
			_, isFunc := field.Type.(*ast.FuncType)
			for _, n := range field.Names {
				name := strings.ToLower(n.Name)
				switch {
				case !n.IsExported() || found[t.Name.Name].known():
				case isChannel && slices.Contains(channels, name):
					found[t.Name.Name] = ending{channel: n.Name, seen: true}
				case isFunc && slices.Contains(endings, name):
					found[t.Name.Name] = ending{function: n.Name, seen: true}
				}
			}
			if len(field.Names) > 0 {
				continue
			}
			if name := typeName(field.Type); name != "" {
				embedded[t.Name.Name] = append(embedded[t.Name.Name], name)
			} else if standardEnd(field.Type) != "" && found[t.Name.Name].method == "" {
				found[t.Name.Name] = ending{method: "Close"}
			}
		}
	}
}

// noteFields notes the types of the fields of a struct that have names.
func noteFields(t *ast.TypeSpec, types map[string]string) {
	if of, ok := t.Type.(*ast.StructType); ok {
		for _, field := range of.Fields.List {
			for _, n := range field.Names {
				types[t.Name.Name+"."+n.Name] = typeName(field.Type)
			}
		}
	}
}

// endsUse reports whether a method ends the use of its receiver.
func (f *facts) endsUse(m *ast.FuncDecl) bool {
	if m.Recv == nil || len(m.Recv.List) != 1 {
		return false
	}
	e := f.ends[typeName(m.Recv.List[0].Type)]
	if ends(m) {
		return !endsPart(m.Name.Name) || endsPart(e.method)
	}
	return e.method == m.Name.Name && len(e.fields) == 0
}

// owners returns, for each type without a method that ends its use, the types with one that lead to
// it: by a field, or by a method that returns it.
func owners(files []*ast.File, ends map[string]ending) map[string][]string {
	found := make(map[string][]string)
	note := func(owner string, of ast.Node) {
		if !ends[owner].known() {
			return
		}
		ast.Inspect(of, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !ends[id.Name].known() && id.Name != owner && !slices.Contains(found[id.Name], owner) {
				found[id.Name] = append(found[id.Name], owner)
			}
			return true
		})
	}
	for _, file := range files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && len(d.Recv.List) == 1 && d.Type.Results != nil {
					note(typeName(d.Recv.List[0].Type), d.Type.Results)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						if st, ok := t.Type.(*ast.StructType); ok {
							note(t.Name.Name, st.Fields)
						}
					}
				}
			}
		}
	}
	return found
}
