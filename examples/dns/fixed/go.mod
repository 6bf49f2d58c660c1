module example.com/dns

go 1.26.0

replace github.com/leakgate/leakgate => ../../..

require (
	github.com/leakgate/leakgate v0.0.0-00010101000000-000000000000
	github.com/miekg/dns v1.1.0
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
