package gotest

import (
	"fmt"
	"strings"
)

// Passthrough is the user's arguments after "--", sorted by their use.
type Passthrough struct {
	LDFlags []string // values of -ldflags, in order; taken out of Args
	Tags    []string // the same of -tags
	Exec    []string // the same of -exec
	Build   []string // flags that change which files and packages belong to the build; also in Args
	Args    []string // all that go to go test as they are
}

// listValue and listBool are the build flags that "go list" must see for it to find the same
// packages as "go test" does.
var (
	listValue = map[string]bool{"mod": true, "modfile": true, "overlay": true, "buildmode": true}
	listBool  = map[string]bool{"race": true, "msan": true, "asan": true, "modcacherw": true}
)

// ParsePassthrough sorts the arguments after "--". What follows -args belongs to the test binary
// and is left alone. It refuses -json and -C, which the leakgate command has flags of its own for.
func ParsePassthrough(args []string) (Passthrough, error) {
	var p Passthrough
	// flags to which the command adds values of its own
	ours := map[string]*[]string{"ldflags": &p.LDFlags, "tags": &p.Tags, "exec": &p.Exec}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, hasValue := splitFlag(arg)
		switch {
		case name == "args":
			p.Args = append(p.Args, args[i:]...)
			return p, nil
		case name == "json" || name == "C":
			return Passthrough{}, fmt.Errorf("-%s does not work after --: give it before, as a flag of leakgate run", name)
		case ours[name] != nil:
			if !hasValue {
				if i++; i == len(args) {
					return Passthrough{}, fmt.Errorf("-%s after -- has no value", name)
				}
				value = args[i]
			}
			*ours[name] = append(*ours[name], value)
			continue
		case listValue[name] && !hasValue && i+1 < len(args):
			p.Build = append(p.Build, arg, args[i+1])
			p.Args = append(p.Args, arg, args[i+1])
			i++
			continue
		case listValue[name] || listBool[name]:
			p.Build = append(p.Build, arg)
		}
		p.Args = append(p.Args, arg)
	}
	return p, nil
}

// All returns arguments for behind "--" that mean what the user's mean.
func (p Passthrough) All() []string {
	var all []string
	for _, f := range []struct {
		name   string
		values []string
	}{{"ldflags", p.LDFlags}, {"tags", p.Tags}, {"exec", p.Exec}} {
		for _, value := range f.values {
			all = append(all, "-"+f.name+"="+value)
		}
	}
	return append(all, p.Args...)
}

// Flag returns the value of a flag that the user gave after "--" or in GOFLAGS, "" for a flag
// without a value, and whether the flag was given. Arguments after -args are no flags of go test's.
func (inv *Invocation) Flag(name string) (value string, ok bool) {
	if name == "exec" {
		value = inv.UsersExec()
		return value, value != ""
	}
	args := append(SplitQuoted(inv.GOFLAGS), inv.Passthrough.Args...)
	for i, arg := range args {
		n, v, hasValue := splitFlag(arg)
		if n == "args" {
			break
		}
		if n != name {
			continue
		}
		if value, ok = v, true; !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
	}
	return value, ok
}

// UsersExec returns the user's -exec, the program that runs test binaries; "" if there is none.
func (inv *Invocation) UsersExec() string {
	all := append(inGOFLAGS(inv.GOFLAGS, "exec"), inv.Passthrough.Exec...)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// splitFlag splits "-name=value" or "--name". The name is "" if arg is not a flag.
func splitFlag(arg string) (name, value string, hasValue bool) {
	s, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return "", "", false
	}
	return strings.Cut(strings.TrimPrefix(s, "-"), "=")
}

// inGOFLAGS returns the values of a flag in the environment variable GOFLAGS. Its fields are
// separated by spaces, and a field may be quoted as a whole (go1.26 cmd/internal/quoted).
func inGOFLAGS(goflags, flag string) []string {
	var values []string
	for _, field := range SplitQuoted(goflags) {
		if name, value, ok := splitFlag(field); name == flag && ok {
			values = append(values, value)
		}
	}
	return values
}

// SplitQuoted splits s at white space; a field that begins with ' or " ends at the next such quote.
// An unterminated quote takes the rest: the go command itself reports it.
func SplitQuoted(s string) []string {
	const space = " \t\n\r"
	var fields []string
	for s = strings.TrimLeft(s, space); s != ""; s = strings.TrimLeft(s, space) {
		if quote := s[0]; quote == '\'' || quote == '"' {
			field, rest, _ := strings.Cut(s[1:], string(quote))
			fields = append(fields, field)
			s = rest
			continue
		}
		end := strings.IndexAny(s, space)
		if end < 0 {
			end = len(s)
		}
		fields = append(fields, s[:end])
		s = s[end:]
	}
	return fields
}

// JoinQuoted is the opposite of SplitQuoted.
func JoinQuoted(words []string) (string, error) {
	quoted := make([]string, len(words))
	for i, w := range words {
		switch {
		case w != "" && !strings.ContainsAny(w, " \t\r\n'\""):
			quoted[i] = w
		case !strings.Contains(w, "'"):
			quoted[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			quoted[i] = `"` + w + `"`
		default:
			return "", fmt.Errorf("%s has quotes of both kinds, which go test -exec cannot take", w)
		}
	}
	return strings.Join(quoted, " "), nil
}
