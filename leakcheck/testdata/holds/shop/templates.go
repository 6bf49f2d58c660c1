package shop

import (
	"fmt"
	"text/template"
)

// NewTemplates makes a template with 100 others.
func NewTemplates() *template.Template {
	t := template.New("root")
	for i := range 100 {
		template.Must(t.New(fmt.Sprint("page", i)).Parse("{{.A}} and {{.B}}"))
	}
	return t
}

// A Page is shown by a template.
type Page struct {
	Title string
	Tmpl  *template.Template
}

var (
	Templates *template.Template
	Pages     []*Page
	Parsed    map[string]*template.Template
)

func resetTemplates() { Templates, Pages, Parsed = nil, nil, map[string]*template.Template{} }
