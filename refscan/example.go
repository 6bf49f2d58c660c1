package refscan

import (
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/leakgate/leakgate/internal/engine/heap/heaptype"
	"github.com/leakgate/leakgate/internal/engine/heap/typedheap"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/symbol"
)

// longestExample is how many characters an example has at most, without braces.
const longestExample = 40

// longestString bounds the strings that are shown. Most keys and tokens are longer.
const longestString = 30

// guarded are parts of names of types, and of paths to objects, of which nothing is shown; secrets
// are those of fields, and of maps with keys. A session has more than its secret.
const (
	guarded = "auth bearer cert cookie cred dsn hash key nonce otp pass pwd private salt secret sign token"
	secrets = guarded + " session"
)

// exampleOf returns what identifies an object that lies at a path, so that people recognise it:
// `{User: "u17", ID: 3}`, or "" if nothing does. Strings are shown if they are short and printable,
// and if neither their field nor the object's type nor the path has the name of a secret. A part
// that does not fit is left out as a whole, since a log that masks secrets does not recognise half
// of one. Nothing is shown of an object that is itself the memory of a string: it has no name that
// tells whether it is a secret, and its length is known to references alone.
//
//go:norace
func exampleOf(h *typedheap.Heap, names *debuginfo.Index, obj uint32, path string) string {
	ty, s := h.Typings.Of(obj), h.Model.SpanOf(obj)
	if ty.Type == 0 || ty.Offset != 0 || s.Tiny {
		return ""
	}
	t := h.Types.At(ty.Type)
	if mentions(guarded, t.Name) || mentions(guarded, path) {
		return ""
	}
	mem, addr := heaptype.Payload(s, obj)
	r := exampleReader{h: h}
	switch ty.Layout {
	case heaptype.LayoutValue, heaptype.LayoutBoxed, heaptype.LayoutMap, heaptype.LayoutClosure:
		w := heaptype.Walker{Types: h.Types, Emit: func(e heaptype.Edge) {
			if e.Layout != heaptype.LayoutString || e.Ref >= heaptype.RefEntry {
				return
			}
			label := heaptype.LabelOf(t, ty.Layout, e.Ref)
			switch {
			case ty.Layout != heaptype.LayoutMap && label != "" && label[0] != '[': // a field, or a captured variable
				r.text(label, label, e.To, e.Size)
			case label == "$mapkey":
				r.text("", path, e.To, e.Size)
			}
		}}
		w.Object(t, ty.Layout, mem, addr)
	default:
		return ""
	}
	if ty.Layout == heaptype.LayoutValue || ty.Layout == heaptype.LayoutBoxed {
		if mem == nil && h.Model.Mem.Try(addr, t.Size) { // without pointers
			mem = h.Model.Mem.Bytes(addr, t.Size)
		}
		r.numbers(names, t.Origin, mem)
	}
	if r.all == "" {
		return ""
	}
	return "{" + r.all + "}"
}

// An exampleReader collects the parts of an example.
type exampleReader struct {
	h   *typedheap.Heap
	all string
}

// add adds a part, if there is room for it.
func (r *exampleReader) add(label, value string) {
	if label != "" {
		value = label + ": " + value
	}
	if r.all != "" {
		value = r.all + ", " + value
	}
	if utf8.RuneCountInString(value) <= longestExample {
		r.all = value
	}
}

// text adds a string of n bytes, unless a name is that of a secret.
//
//go:norace
func (r *exampleReader) text(label, name string, addr, n uint64) {
	const most = 4 * longestString // bytes
	if n == 0 || n > most || mentions(secrets, name) || !r.h.Model.Mem.Try(addr, n) {
		return
	}
	text := string(r.h.Model.Mem.Bytes(addr, n))
	isAddress := strings.Contains(text, "@") && strings.Contains(text, ":") // of a server, with a password
	if utf8.RuneCountInString(text) > longestString || isAddress || strings.ContainsFunc(text, isHidden) {
		return
	}
	r.add(label, `"`+text+`"`)
}

// numbers adds the integers of a struct that are not 0.
//
//go:norace
func (r *exampleReader) numbers(names *debuginfo.Index, id debuginfo.TypeID, mem []byte) {
	t := names.Type(id)
	if t.Kind != reflect.Struct {
		return
	}
	for _, f := range t.Fields {
		ft, off := names.Type(f.Type), uint64(f.Offset)
		unused := 64 - 8*uint(ft.Size)
		n := heaptype.Word(mem, off&^7) >> (8 * (off & 7)) << unused // aligned: it lies in one word
		switch {
		case n == 0 || mentions(secrets, f.Name):
		case ft.Kind >= reflect.Int && ft.Kind <= reflect.Int64:
			r.add(f.Name, strconv.FormatInt(int64(n)>>unused, 10))
		case ft.Kind >= reflect.Uint && ft.Kind <= reflect.Uint64:
			r.add(f.Name, strconv.FormatUint(n>>unused, 10))
		}
	}
}

// mentions reports whether a name, or the end of a path, contains one of the words.
func mentions(words, name string) bool {
	name = strings.ToLower(strings.ReplaceAll(symbol.LastElement(name), "[$key]", ""))
	for _, s := range strings.Fields(words) {
		if strings.Contains(name, s) {
			return true
		}
	}
	return false
}

// isHidden reports whether a character is not printed as it is; utf8.RuneError stands for bytes
// that are no text.
func isHidden(c rune) bool { return c == '"' || c == utf8.RuneError || !strconv.IsPrint(c) }
