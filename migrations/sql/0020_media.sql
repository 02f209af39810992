-- Uploaded files, served as the content table `media`. A row exists only for a file that lies whole
-- in the media folder; equal content is one file and one row.
CREATE TABLE cms_media (
    id {{id}},
    -- Where it is served: /media/ and the SHA-256 of its content.
    path TEXT NOT NULL UNIQUE,
    -- As its sender named it.
    file_name TEXT NOT NULL,
    -- By its bytes.
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    -- Of pictures, in pixels, as they are shown.
    width BIGINT,
    height BIGINT,
    sha256 TEXT NOT NULL UNIQUE,
    -- Names joined by /; empty: none.
    folder TEXT NOT NULL DEFAULT '',
    -- Texts by language.
    alt {{json}} NOT NULL DEFAULT '{}',
    title {{json}} NOT NULL DEFAULT '{}',
    -- What must stay in sight when a picture is cropped: 0 to 1 from the left, and from the top.
    focal_x DOUBLE PRECISION,
    focal_y DOUBLE PRECISION,
    uploaded_at TEXT NOT NULL
) {{strict}};
CREATE INDEX cms_media_by_folder ON cms_media (folder, id);
