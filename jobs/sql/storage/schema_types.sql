-- schema_types: PostgreSQL's names of column types, without length; null for an unknown type.
-- Locks: none.
SELECT t.name, format_type(to_regtype(t.name), NULL)
  FROM unnest(%(names)s::text[]) AS t (name)
