module github.com/evorl/evorl

go 1.26
