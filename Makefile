# approval: build with PGXS.  "make help" lists the targets.

EXTENSION = approval
MODULE_big = approval
PGFILEDESC = "approval - human approval for the actions of agents"
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" approval.control)

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c)))
C_HEADERS = $(wildcard src/*.h)

# The install script of the version being developed is built from its parts;
# scripts of released versions, and upgrade scripts, are files of their own.
SQL_PARTS = $(sort $(wildcard sql/parts/[0-9]*.sql))
SQL_SCRIPT = sql/$(EXTENSION)--$(EXTVERSION).sql
DATA = $(filter-out $(SQL_SCRIPT),$(wildcard sql/$(EXTENSION)--*.sql))
DATA_built = $(SQL_SCRIPT)

# pg_regress reads test/sql/NAME.sql and expected/NAME.out.
REGRESS = $(sort $(patsubst test/sql/%.sql,%,$(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test --load-extension=$(EXTENSION)

# Every SQL-callable function has an fcinfo, used or not, and hooks and
# callbacks have parameters that they need not look at: hence no
# -Wunused-parameter.  The server's headers are read as system headers, so
# that -Wextra speaks of our files only.  For -Werror: make COPT=-Werror.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter \
	-Werror=implicit-function-declaration
PG_CPPFLAGS = -isystem $(INCLUDEDIR_SERVER)
ifneq ($(wildcard src/sign.c),)
SHLIB_LINK += -lcrypto
endif

.DEFAULT_GOAL := all

PG_CONFIG ?= pg_config
export PG_CONFIG
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
INCLUDEDIR_SERVER := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)

ifeq ($(and $(wildcard $(PGXS)),$(wildcard $(INCLUDEDIR_SERVER)/postgres.h)),)
NO_SERVER = yes
endif

ifndef NO_SERVER

# No bitcode for the server's JIT unless asked for: make with_llvm=yes
ifneq ($(origin with_llvm),command line)
override with_llvm := no
endif

include $(PGXS)

# Objects made for another server are made again.
BUILT_FOR := $(shell $(PG_CONFIG) --version --pkglibdir | tr '\n' ' ')
$(OBJS): $(C_HEADERS) build/built-for
build/built-for: FORCE
	@mkdir -p build
	@echo '$(BUILT_FOR)' | cmp -s - $@ || echo '$(BUILT_FOR)' >$@
FORCE:

$(SQL_SCRIPT): $(SQL_PARTS) approval.control
	@{ printf '%s\n' '\echo Use "CREATE EXTENSION $(EXTENSION)" to load this file. \quit'; \
	   for part in $(SQL_PARTS); do echo; cat $$part || exit 1; done; } >$@.tmp
	@mv $@.tmp $@

else

# No server to build against yet: "make deps" installs one, and the targets
# that install it themselves work already.
PGXS_GOALS = all install installcheck uninstall installdirs
.PHONY: $(PGXS_GOALS) clean
$(PGXS_GOALS):
	@echo "$(PG_CONFIG) does not lead to a PostgreSQL server to build against."
	@echo "Run \"make deps\", or set PG_CONFIG to the pg_config of one."
	@exit 1
clean:
	rm -f $(SQL_SCRIPT) $(OBJS) $(MODULE_big).so

endif

clean: clean-build

.PHONY: FORCE help deps stage demo inbox test test-n8n test-versions test-es6-full bench lint format \
	format-check typedefs clean-build

help:
	@echo 'make                builds the library and the install script (PG_CONFIG chooses the server)'
	@echo 'make install        installs them into that server'
	@echo 'make installcheck   pg_regress against a running server that has them installed, as a superuser'
	@echo 'make deps           installs what is missing (Debian packages)'
	@echo 'make demo           builds, starts a private server and shows the gate at work'
	@echo 'make inbox          the same as a page: a live inbox, an agent that asks and an executor that acts (PORT=8765 EVERY=8)'
	@echo 'make test           runs the whole suite on private servers; ONE=NAME runs one piece:'
	@echo '                    regress, isolation, pgtap, pgtap/FILE, t, t/FILE, vectors, es6, demo, ...'
	@echo 'make test-versions  the suite on PostgreSQL 17 and 18, each in a chroot that it makes itself (needs root or sudo);'
	@echo '                    VERSIONS="15 18" says which, ONE=NAME runs one piece'
	@echo 'make test-n8n       the workflows of docs/examples/n8n in a whole n8n, which it installs (2.9 GB)'
	@echo 'make test-es6-full  the number formatter against all 100 million published numbers'
	@echo 'make bench          measures, for 95 minutes; QUICK=1 takes a first look, ONE=NAME runs one part:'
	@echo '                    lifecycle, hash, scale, doorbell, latency, expire, steps ... (test/bench/README.md)'
	@echo 'tools/cluster       private servers for trying things out: tools/cluster start dev --preload; eval "$$(tools/cluster env dev)"'
	@echo 'make lint           cppcheck, gcc and clang with all warnings as errors'
	@echo 'make format         formats C and Perl; make format-check only says what would change'
	@echo 'make typedefs       refreshes the list of types that the formatter needs'
	@echo 'make stage          installs into build/stage instead of the system'
	@echo 'make clean          removes what was built, private servers too'

deps:
	@tools/deps build demo test lint

# A scratch installation, which tools/cluster lets its servers look into.
stage: all
	@rm -rf build/stage
	@umask 022; $(MAKE) -s --no-print-directory install DESTDIR='$(CURDIR)/build/stage'

demo:
	@demo/run

inbox:
	@demo/inbox $(if $(PORT),--port $(PORT)) $(if $(EVERY),--every $(EVERY))

test:
	@NO_CLIENTS=$(NO_CLIENTS) tools/test $(ONE)

test-versions:
	@tools/test-versions $(ONE)

test-n8n:
	@tools/deps build test clients
	@test/clients/n8n/whole

test-es6-full: all
	@test/es6/run 100000000

bench:
	@tools/deps build test
	@tools/npm
	@demo/stage
	@test/bench/run $(ONE)

lint:
	@tools/lint

format:
	@tools/format

format-check:
	@tools/format --check

typedefs: all
	@tools/typedefs

clean-build:
	@tools/cluster destroy --all
	@tools/test-versions --clean
	rm -rf build
